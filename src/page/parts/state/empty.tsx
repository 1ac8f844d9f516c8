/** Duty: what a screen says while it has nothing to show: what to type, or what went wrong. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTitle } from '../../app/title.tsx'
import { Command } from '../text/command.tsx'
import { Text } from '../text/text.tsx'

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
