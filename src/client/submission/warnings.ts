/** Duty: warn a caller about a session or message that was accepted, but may not be what they meant. */
import { unhostedPool } from '../../core/ids.ts'
import type { Notify } from '../../core/worker/notify.ts'
import type { NodeSummary } from '../summaries.ts'

/** `begun`: the kind of the session that the key created. Null if it was pruned: it is not created again, because that would repeat what it did. */
export function keyWarning(kind: string, begun: string | null, isOther: boolean): string {
  const used = usedBefore(isOther)
  if (begun === null)
    return `${used} the session it began then has finished and been pruned, and nothing was begun now. Use another key to begin it again.`
  const which = begun === kind ? 'the session' : `the session of kind "${begun}" that`
  return `${used} this is ${which} it began then, and nothing was added to it.`
}

export function sentWarning(isOther: boolean): string {
  return `${usedBefore(isOther)} this is the place of the message that was sent then, and nothing was added.`
}

function usedBefore(isOther: boolean): string {
  return `its idempotency key was used before${isOther ? ', for something else' : ''}:`
}

/** Warns of a result that no live node can sign. `nodes` is asked only for an address. Never throws, because the session is there already. */
export async function notifyWarning(
  notify: Notify | undefined,
  nodes: () => Promise<readonly NodeSummary[]>,
): Promise<string | null> {
  if (notify === undefined || !('url' in notify)) return null
  return nodes().then(
    (live) => unsignedWarning(notify, live),
    () => null,
  )
}

/** Null if a live node signs requests, or may: one that does not say it is of an earlier version. */
function unsignedWarning({ url }: { readonly url: string }, nodes: readonly NodeSummary[]): string | null {
  if (nodes.length === 0 || nodes.some(({ signs }) => signs !== false)) return null
  return `no live node has a secret to sign the request to ${new URL(url).host} with: the result is sent there once a node has one (TROUPE_WEBHOOK_SECRET, or webhooks.secrets in code).`
}

export function unhostedWarning(kind: string, pool: string): string | null {
  return pool === unhostedPool ? `no node has ever hosted kind "${kind}": the session waits until one does.` : null
}
