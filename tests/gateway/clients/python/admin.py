"""Tables, instances, clusters and profiles: the admin clients that google-cloud-bigtable makes for
an emulator, with their own messages."""
from google.cloud import bigtable
from google.cloud import bigtable_admin_v2 as api
from google.protobuf import duration_pb2, field_mask_pb2

from notation import bytes_of

types = api.types
# Fields of these names have a "_" behind them here, as Python has functions of the same name.
AGGREGATORS = {"intsum": "sum", "intmin": "min_", "intmax": "max_", "inthll": "hllpp_unique_count",
               "byteshll": "hllpp_unique_count"}


class Admin:
    """Of one project and instance."""

    def __init__(self, project, instance):
        client = bigtable.Client(project=project, admin=True)
        self.tables = client.table_admin_client
        self.instances = client.instance_admin_client
        self.project_name = f"projects/{project}"
        self.instance_name = f"projects/{project}/instances/{instance}"

    def table(self, step):
        return f"{self.instance_name}/tables/{step['table']}"

    def instance(self, step):
        return f"{self.project_name}/instances/{step['instance']}"

    def cluster(self, step):
        return f"{self.instance(step)}/clusters/{step['cluster']}"

    def profile(self, step):
        return f"{self.instance(step)}/appProfiles/{step['profile']}"


# --- rules and types ------------------------------------------------------------------------------


def _rule_of(gc):
    if "versions" in gc:
        return types.GcRule(max_num_versions=gc["versions"])
    if "ageSeconds" in gc:
        return types.GcRule(max_age=duration_pb2.Duration(seconds=gc["ageSeconds"]))
    if "union" in gc:
        return types.GcRule(union=types.GcRule.Union(rules=[_rule_of(g) for g in gc["union"]]))
    rules = [_rule_of(g) for g in gc["intersection"]]
    return types.GcRule(intersection=types.GcRule.Intersection(rules=rules))


def _gc_of(rule):
    message = types.GcRule.pb(rule)
    kind = message.WhichOneof("rule")
    if kind is None:
        return None
    if kind == "max_num_versions":
        return {"versions": message.max_num_versions}
    if kind == "max_age":
        return {"ageSeconds": message.max_age.seconds}
    return {kind: [_gc_of(part) for part in getattr(rule, kind).rules]}


def _message_of(family):
    made = types.ColumnFamily()
    if family.get("gc"):
        made.gc_rule = _rule_of(family["gc"])
    if family.get("type"):
        made.value_type = _value_type(family["type"])
    return made


def _value_type(name):
    made = types.Type(aggregate_type=types.Type.Aggregate(input_type=types.Type()))
    message = types.Type.pb(made).aggregate_type
    if name == "byteshll":
        message.input_type.bytes_type.encoding.raw.SetInParent()
    else:
        message.input_type.int64_type.encoding.big_endian_bytes.SetInParent()
    getattr(message, AGGREGATORS[name]).SetInParent()
    return made


def _type_name(value_type):
    message = types.Type.pb(value_type)
    if message.WhichOneof("kind") != "aggregate_type":
        return None
    aggregator = message.aggregate_type.WhichOneof("aggregator")
    is_bytes = message.aggregate_type.input_type.WhichOneof("kind") == "bytes_type"
    if aggregator == "hllpp_unique_count":
        return "byteshll" if is_bytes else "inthll"
    return {"sum": "intsum", "min_": "intmin", "max_": "intmax"}.get(aggregator)


# --- tables ---------------------------------------------------------------------------------------


def create_table(admin, step):
    families = {name: _message_of(family) for name, family in step["families"].items()}
    splits = [api.CreateTableRequest.Split(key=bytes_of(key)) for key in step.get("splits", [])]
    table = types.Table(column_families=families, deletion_protection=step.get("protected", False))
    admin.tables.create_table(request=api.CreateTableRequest(
        parent=admin.instance_name, table_id=step["table"], table=table, initial_splits=splits))
    return {}


VIEWS = {"name": types.Table.View.NAME_ONLY, "schema": types.Table.View.SCHEMA_VIEW,
         "full": types.Table.View.FULL}


def get_table(admin, step):
    table = admin.tables.get_table(request={"name": admin.table(step),
                                            "view": VIEWS[step.get("view", "schema")]})
    families = {name: {"gc": _gc_of(family.gc_rule), "type": _type_name(family.value_type)}
                for name, family in table.column_families.items()}
    return {"protected": table.deletion_protection, "families": families}


def list_tables(admin, step):
    tables = admin.tables.list_tables(request={"parent": admin.instance_name,
                                               "page_size": step.get("pageSize", 0)})
    return {"tables": sorted(table.name.rsplit("/", 1)[1] for table in tables)}


def modify_families(admin, step):
    modification = api.ModifyColumnFamiliesRequest.Modification
    made = []
    for change in step["modifications"]:
        if "drop" in change:
            made.append(modification(id=change["drop"], drop=True))
        elif "create" in change:
            made.append(modification(id=change["create"], create=_message_of(change)))
        else:
            made.append(modification(id=change["update"], update=_message_of(change)))
    admin.tables.modify_column_families(name=admin.table(step), modifications=made)
    return {}


def protect_table(admin, step):
    operation = admin.tables.update_table(
        table=types.Table(name=admin.table(step), deletion_protection=step["protected"]),
        update_mask=field_mask_pb2.FieldMask(paths=["deletion_protection"]))
    operation.result(timeout=60)
    return {}


def delete_table(admin, step):
    admin.tables.delete_table(name=admin.table(step))
    return {}


def drop_rows(admin, step):
    request = {"name": admin.table(step)}
    if step.get("all"):
        request["delete_all_data_from_table"] = True
    else:
        request["row_key_prefix"] = bytes_of(step["prefix"])
    admin.tables.drop_row_range(request=request)
    return {}


def consistency(admin, step):
    token = admin.tables.generate_consistency_token(name=admin.table(step)).consistency_token
    answer = admin.tables.check_consistency(name=admin.table(step), consistency_token=token)
    return {"consistent": answer.consistent}


# --- instances, clusters, profiles ----------------------------------------------------------------


def _id(resource):
    return resource.name.rsplit("/", 1)[1]


def _cluster_message(admin, step):
    return types.Cluster(location=f"{admin.project_name}/locations/{step['zone']}",
                         serve_nodes=step["nodes"], default_storage_type=types.StorageType.SSD)


def create_instance(admin, step):
    admin.instances.create_instance(
        parent=admin.project_name, instance_id=step["instance"],
        instance=types.Instance(display_name=step["displayName"]),
        clusters={step["cluster"]: _cluster_message(admin, step)}).result(timeout=60)
    return {}


def get_instance(admin, step):
    instance = admin.instances.get_instance(name=admin.instance(step))
    return {"id": _id(instance), "displayName": instance.display_name}


def list_instances(admin, _):
    answer = admin.instances.list_instances(parent=admin.project_name)
    return {"instances": sorted(_id(instance) for instance in answer.instances)}


def update_instance(admin, step):
    admin.instances.partial_update_instance(
        instance=types.Instance(name=admin.instance(step), display_name=step["displayName"]),
        update_mask=field_mask_pb2.FieldMask(paths=["display_name"])).result(timeout=60)
    return {}


def delete_instance(admin, step):
    admin.instances.delete_instance(name=admin.instance(step))
    return {}


def create_cluster(admin, step):
    admin.instances.create_cluster(parent=admin.instance(step), cluster_id=step["cluster"],
                                   cluster=_cluster_message(admin, step)).result(timeout=60)
    return {}


def get_cluster(admin, step):
    cluster = admin.instances.get_cluster(name=admin.cluster(step))
    return {"id": _id(cluster), "nodes": cluster.serve_nodes}


def list_clusters(admin, step):
    answer = admin.instances.list_clusters(parent=admin.instance(step))
    return {"clusters": sorted(_id(cluster) for cluster in answer.clusters)}


def update_cluster(admin, step):
    admin.instances.update_cluster(request=types.Cluster(
        name=admin.cluster(step), serve_nodes=step["nodes"])).result(timeout=60)
    return {}


def delete_cluster(admin, step):
    admin.instances.delete_cluster(name=admin.cluster(step))
    return {}


def create_profile(admin, step):
    profile = types.AppProfile(description=step["description"])
    if step["routing"] == "any":
        profile.multi_cluster_routing_use_any = types.AppProfile.MultiClusterRoutingUseAny()
    else:
        profile.single_cluster_routing = types.AppProfile.SingleClusterRouting(
            cluster_id=step["routing"]["cluster"],
            allow_transactional_writes=step["routing"]["transactions"])
    admin.instances.create_app_profile(request={
        "parent": admin.instance(step), "app_profile_id": step["profile"], "app_profile": profile,
        "ignore_warnings": True})
    return {}


def get_profile(admin, step):
    profile = admin.instances.get_app_profile(name=admin.profile(step))
    routing = "any"
    if types.AppProfile.pb(profile).WhichOneof("routing_policy") == "single_cluster_routing":
        single = profile.single_cluster_routing
        routing = {"cluster": single.cluster_id, "transactions": single.allow_transactional_writes}
    return {"id": _id(profile), "description": profile.description, "routing": routing}


def list_profiles(admin, step):
    return {"profiles": sorted(_id(profile) for profile in
                               admin.instances.list_app_profiles(parent=admin.instance(step)))}


def update_profile(admin, step):
    admin.instances.update_app_profile(request={
        "app_profile": types.AppProfile(name=admin.profile(step), description=step["description"]),
        "update_mask": field_mask_pb2.FieldMask(paths=["description"]),
        "ignore_warnings": True}).result(timeout=60)
    return {}


def delete_profile(admin, step):
    admin.instances.delete_app_profile(request={"name": admin.profile(step), "ignore_warnings": True})
    return {}


def hot_tablets(admin, step):
    tablets = admin.instances.list_hot_tablets(parent=admin.cluster(step))
    return {"tables": sorted({tablet.table_name.rsplit("/", 1)[1] for tablet in tablets})}


ACTIONS = {
    "createTable": create_table, "getTable": get_table, "listTables": list_tables,
    "modifyFamilies": modify_families, "protectTable": protect_table, "deleteTable": delete_table,
    "dropRows": drop_rows, "consistency": consistency,
    "createInstance": create_instance, "getInstance": get_instance, "listInstances": list_instances,
    "updateInstance": update_instance, "deleteInstance": delete_instance,
    "createCluster": create_cluster, "getCluster": get_cluster, "listClusters": list_clusters,
    "updateCluster": update_cluster, "deleteCluster": delete_cluster,
    "createProfile": create_profile, "getProfile": get_profile, "listProfiles": list_profiles,
    "updateProfile": update_profile, "deleteProfile": delete_profile, "hotTablets": hot_tablets,
}
