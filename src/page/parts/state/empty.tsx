/** Duty: what a screen says while it has nothing to show, or not all: what to type, or what went wrong. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { lacksText } from '../../../words/away-text.ts'
import { Command } from '../text/command.tsx'
import { Text } from '../text/text.tsx'
import { useTitle } from '../text/title.tsx'

interface EmptyProps {
  readonly children: ReactNode
  readonly commands?: readonly string[]
}

export function Empty({ children, commands = [] }: EmptyProps): ReactNode {
  return (
    <div className="empty">
      <p>{children}</p>
      {commands.map((command) => (
        <Command key={command} text={command} />
      ))}
    </div>
  )
}

/** In place of what has the id, of which only a part is there. */
export function CutId({ title, problem }: { readonly title: string; readonly problem: string }): ReactNode {
  useTitle(title)
  return (
    <div className="empty" role="alert">
      <p className="bad">
        <Text text={problem} />
      </p>
      <Link to="/sessions">All sessions</Link>
    </div>
  )
}

/** Above a list that lacks what is in these partitions of a cluster. */
export function Lacking({ away }: { readonly away: readonly number[] }): ReactNode {
  if (away.length === 0) return null
  return (
    <p className="box-body bad" role="alert">
      Some are missing: {lacksText(away)}.
    </p>
  )
}

/** The parts of a query besides its data. Shows nothing once there is data: stale data stay in sight. */
export function Waiting({
  query,
  what,
}: {
  readonly query: { readonly error: Error | null; readonly data: unknown }
  readonly what: string
}): ReactNode {
  if (query.data !== undefined) return null
  if (query.error === null) return <div className="empty">Reading {what} …</div>
  return (
    <div className="empty" role="alert">
      <p className="bad">
        <Text text={query.error.message} />
      </p>
    </div>
  )
}
