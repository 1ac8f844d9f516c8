/** Duty: facts of one thing, a name and a value each. */
import type { ReactNode } from 'react'

/** One whose value is null, undefined or false is left out. */
export type Fact = readonly [name: string, value: ReactNode]

export function Facts({ facts }: { readonly facts: readonly Fact[] }): ReactNode {
  return (
    <dl className="facts">
      {facts.map(
        ([name, value]) =>
          value !== null &&
          value !== undefined &&
          value !== false && (
            <div key={name} className="fact">
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
