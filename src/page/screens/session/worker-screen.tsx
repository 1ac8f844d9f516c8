/** Duty: the address of one worker: shows its session, with the worker chosen. */
import { getRouteApi, Navigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { cutIdProblem } from '../../api/id.ts'
import { useWorker } from '../../api/queries.ts'
import { CutId, Waiting } from '../../parts/state/empty.tsx'

const route = getRouteApi('/workers/$id')

export function WorkerScreen(): ReactNode {
  const { id } = route.useParams()
  const problem = cutIdProblem(id, 'worker')
  return problem === null ? <WholeWorker id={id} /> : <CutId title="Worker" problem={problem} />
}

function WholeWorker({ id }: { readonly id: string }): ReactNode {
  const query = useWorker(id)
  if (query.data === undefined) return <Waiting query={query} what="the worker" />
  return <Navigate to="/sessions/$id" params={{ id: query.data.sessionId }} search={{ worker: id }} replace />
}
