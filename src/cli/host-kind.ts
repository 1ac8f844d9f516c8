/**
 * Duty: somebody who runs the kind: a node that lives already, else one in this process with the worker files that are here.
 * Where there is neither, the command is wrong, and the kinds that exist are named.
 */
import type { KindSummary, Troupe } from '../client/client.ts'
import type { Config } from '../config.ts'
import { NotFoundError } from '../core/errors.ts'
import { closest } from './closest.ts'
import { loadLocalKinds } from './local-kinds.ts'
import { type LocalNode, startLocalNode } from './local-node.ts'
import { safe } from './output.ts'
import { workersFolder } from './workers-folder.ts'

/** Starts a node in this process if one is needed; undefined when a live node hosts the kind. */
export async function hostKind(
  kind: string,
  troupe: Troupe,
  config: Config,
  tell: (line: string) => void,
): Promise<LocalNode | undefined> {
  const known = await troupe.kinds()
  if (known.some((summary) => summary.kind === kind && summary.hosted)) return undefined

  const folder = await workersFolder(config)
  if (folder !== undefined) {
    const kinds = await loadLocalKinds(folder)
    if (!kinds.has(kind)) throw unknownKind(kind, known, [...kinds.keys()])
    tell(`troupe: no live node hosts ${kind}: running it here, with the worker files of ${safe(folder)}`)
    return startLocalNode(config, kinds, tell)
  }
  throw unknownKind(kind, known, [])
}

function unknownKind(kind: string, known: readonly KindSummary[], local: readonly string[]): NotFoundError {
  if (known.some((summary) => summary.kind === kind)) {
    const advice = 'start one with `troupe node`, or leave the work to wait with `troupe submit`'
    return new NotFoundError(
      'kind_unknown',
      `no live node hosts "${kind}", and its worker file is not here: ${advice}.`,
    )
  }
  const hosted = known.filter((summary) => summary.hosted).map((summary) => summary.kind)
  const kinds = [...new Set([...hosted, ...local])].sort()
  const near = closest(kind, kinds)
  const hint = near === undefined ? '' : ` Did you mean ${near}?`
  const list =
    kinds.length === 0
      ? 'no node is live, and there is no folder of worker files here'
      : `there are: ${kinds.join(', ')}`
  return new NotFoundError('kind_unknown', `there is no kind "${kind}"; ${list}.${hint}`)
}
