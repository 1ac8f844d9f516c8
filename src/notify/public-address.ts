/**
 * Duty: find the address of a host to which a request may go.
 * ADDRESS-1 Unless it is allowed, no request goes to an address of this machine or of a private network: otherwise whoever may create a session
 *    could reach what only this machine can reach. If one address of a name is private, none is used.
 */
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { InputError, TransientError } from '../core/errors.ts'

export interface HostAddress {
  readonly address: string
  readonly family: number
}

const refused = new BlockList()
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  refused.addSubnet(net, prefix, 'ipv4')
/** Of IPv6, only addresses that are routed between networks are used, and none that stands for an IPv4 address. */
const routed = new BlockList()
routed.addSubnet('2000::', 3, 'ipv6')
for (const [net, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  refused.addSubnet(net, prefix, 'ipv6')

export function isPublic({ address, family }: HostAddress): boolean {
  if (family === 4) return !refused.check(address, 'ipv4')
  return routed.check(address, 'ipv6') && !refused.check(address, 'ipv6')
}

/** Throws an InputError for an address that may not be asked, and a TransientError if the name is not known now. */
export async function addressOf(
  url: URL,
  allowPrivate: boolean,
  resolve: (host: string) => Promise<readonly HostAddress[]> = resolveAll,
): Promise<HostAddress> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const family = isIP(host)
  const found = family === 0 ? await resolve(host) : [{ address: host, family }]
  const [first] = found
  if (first === undefined) throw new TransientError(`${host} has no address.`, { code: 'store_unavailable' })
  if (!allowPrivate && !found.every(isPublic))
    throw new InputError(`${privateText(host)}: allow it for the node (${allowing}).`)
  return first
}

/** Throws an InputError for an address that by itself may get no request; what a name stands for is known when the request is made. */
export function checkWrittenAddress(url: URL): void {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const family = isIP(host)
  const isHere = /(?:^|\.)localhost\.?$/.test(host)
  if (isHere || (family !== 0 && !isPublic({ address: host, family })))
    throw new InputError(`${privateText(host)}: allow it here and for the nodes (${allowing}).`)
}

const allowing = 'webhooks.allowPrivateAddresses, TROUPE_WEBHOOK_PRIVATE=allow'

function privateText(host: string): string {
  return `${host} is an address of this machine or of a private network, and no request is sent there`
}

async function resolveAll(host: string): Promise<readonly HostAddress[]> {
  try {
    return await lookup(host, { all: true })
  } catch (cause) {
    throw new TransientError(`the address of ${host} is not known: ${String(cause)}.`, {
      code: 'store_unavailable',
      cause,
    })
  }
}
