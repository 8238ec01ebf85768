/*
 * How long an address may be at which others reach a tablet server: as the catalog takes it.
 */
#ifndef TABLETSERVER_PEER_SERVER_ADDRESS_H
#define TABLETSERVER_PEER_SERVER_ADDRESS_H

#define SERVER_ADDRESS_BYTES_MAX 512

#endif /* TABLETSERVER_PEER_SERVER_ADDRESS_H */
