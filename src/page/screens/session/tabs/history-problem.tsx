/** Duty: why a history, or the rest of it, could not be read. */
import type { ReactNode } from 'react'
import { Text } from '../../../parts/text/text.tsx'
import type { LoadedHistory } from '../use-history.ts'

export function HistoryProblem({ history: { error } }: { readonly history: LoadedHistory }): ReactNode {
  if (error === null) return null
  return (
    <p className="bad" role="alert">
      <Text text={error.message} />
    </p>
  )
}
