/** Duty: the objects of --json for reports and lists: the id of a session is in `sessionId`, and that of a worker in `workerId`. */
import type { Report, WorkerReport } from '../../client/report.ts'
import { rootIdOf } from '../../core/ids.ts'
import type { Branch } from '../../words/tree.ts'

/** A session, with its id and the id of its first worker. */
export function withSessionIds(session: { readonly id: string }): object {
  return { sessionId: session.id, workerId: rootIdOf(session.id), ...session }
}

export function withWorkerIds(worker: WorkerReport): object {
  const { sessionId, ...others } = worker
  return { sessionId, workerId: worker.id, ...others }
}

export function reportObject({ session, workers }: Report): object {
  return { session: withSessionIds(session), workers: workers.map(withWorkerIds) }
}

export function branchObject({ worker, children }: Branch<WorkerReport>): object {
  return { ...withWorkerIds(worker), children: children.map(branchObject) }
}
