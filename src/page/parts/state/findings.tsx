/** Duty: what `troupe doctor` finds, in its words, with the command that helps; problems first, and of these what holds up work. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { ShownFinding } from '../../api/queries.ts'
import { Command } from '../text/command.tsx'
import { Text } from '../text/text.tsx'
import { aroundCommand } from './around-command.ts'

export function Findings({ findings }: { readonly findings: readonly ShownFinding[] }): ReactNode {
  return (
    <ul className="findings">
      {findings.toSorted(byLevel).map((finding) => (
        <li key={`${finding.code} ${finding.what}`} className="finding" data-level={finding.level}>
          <span className={finding.level === 'problem' ? 'tag bad' : finding.level === 'warning' ? 'tag warn' : 'tag'}>
            {finding.level}
          </span>
          <div className="finding-text">
            <p>
              <Text text={sentence(finding.what)} />
            </p>
            <Advice finding={finding} />
            {placeOf[finding.code] !== undefined && (
              <Link to={placeOf[finding.code]?.to ?? '/'}>{placeOf[finding.code]?.name}</Link>
            )}
            {finding.workerIds?.[0] !== undefined && (
              <Link to="/workers/$id" params={{ id: finding.workerIds[0] }}>
                Show the worker
              </Link>
            )}
          </div>
        </li>
      ))}
    </ul>
  )
}

function Advice({ finding: { todo = '', command } }: { readonly finding: ShownFinding }): ReactNode {
  const around = command === undefined ? null : aroundCommand(todo, command)
  const [before, behind] = around ?? [todo, '']
  return (
    <>
      {todo !== '' && (
        <p className="muted">
          <Text text={before} />
          {around !== null && <Command text={command ?? ''} />}
          <Text text={behind} />
        </p>
      )}
      {command !== undefined && around === null && <Command text={command} />}
    </>
  )
}

/** The screen where a finding is mended. */
const placeOf: Readonly<
  Record<string, { readonly to: '/fleet' | '/webhooks' | '/dead'; readonly name: string } | undefined>
> = {
  nodes_stalled: { to: '/fleet', name: 'To the nodes' },
  all_paused: { to: '/fleet', name: 'To the nodes' },
  webhooks_failing: { to: '/webhooks', name: 'To the endpoints' },
  dead_letters: { to: '/dead', name: 'To the dead letters' },
}

const levels = ['problem', 'warning', 'ok']

function byLevel(a: ShownFinding, b: ShownFinding): number {
  return levels.indexOf(a.level) - levels.indexOf(b.level) || Number(isOfWork(b)) - Number(isOfWork(a))
}

/** True if somebody must do something about work; other findings are about servers. */
function isOfWork({ code, workerIds }: ShownFinding): boolean {
  return workerIds !== undefined || placeOf[code] !== undefined
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
