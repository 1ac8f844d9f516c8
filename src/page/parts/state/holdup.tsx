/** Duty: why a worker or a session does not go on, in one sentence, with the command that helps. The words are those of the command line. */
import type { ReactNode } from 'react'
import type { Holdup } from '../../../client/holdup.ts'
import type { WorkerReport } from '../../../client/report.ts'
import { waitingText } from '../../../words/holdup-text.ts'
import { nameAndKind } from '../../../words/worker-name.ts'
import { useNow } from '../../clock.ts'
import { Command } from '../text/command.tsx'
import { Text } from '../text/text.tsx'

interface HoldupProps {
  readonly holdup: Holdup
  readonly worker?: Pick<WorkerReport, 'name' | 'kind'> | undefined
  /** What the reader can do here. */
  readonly children?: ReactNode
  /** True if the command stands below. */
  readonly hasHelp?: boolean
}

export function HoldupLine({ holdup, worker, children, hasHelp = false }: HoldupProps): ReactNode {
  const now = useNow()
  const who = worker === undefined ? 'It' : nameAndKind(worker.name, worker.kind)
  return (
    <div className="holdup" data-needs={holdup.needsSomebody && holdup.reason !== 'message'}>
      <span>
        <strong>
          <Text text={who} isLine />
        </strong>{' '}
        waits for <Text text={waitingText(holdup, now)} isLine />
      </span>
      {children}
      {holdup.command !== null && !hasHelp && <Command text={holdup.command} />}
    </div>
  )
}
