/** Duty: the state of a worker: what it does and waits for, what it may use and has used, its last failure. */
import type { ReactNode } from 'react'
import type { WorkerReport } from '../../../../client/report.ts'
import { count, inAndOut } from '../../../../words/amounts.ts'
import { configurationText } from '../../../../words/configuration-text.ts'
import { failureSentence } from '../../../../words/lines/message-line.ts'
import { type Fact, Facts } from '../../../parts/list/facts.tsx'
import { HoldupLine } from '../../../parts/state/holdup.tsx'
import { WorkerState } from '../../../parts/state/state.tsx'
import { Id } from '../../../parts/text/command.tsx'
import { JsonText } from '../../../parts/text/json.tsx'
import { Text } from '../../../parts/text/text.tsx'
import { Age } from '../../../parts/text/time.tsx'
import { WorkerActions } from '../worker-actions.tsx'

export function StateTab({ worker }: { readonly worker: WorkerReport }): ReactNode {
  const { activity, holdup } = worker
  const does: Fact = ['does', <WorkerState key="does" activity={activity} holdup={holdup} />]
  return (
    <div className="tab-body">
      {holdup !== null && <HoldupLine holdup={holdup} worker={worker} />}
      <WorkerActions worker={worker} />
      <Facts facts={[does, ...factsOfRun(worker), ...factsOfUse(worker)]} />
    </div>
  )
}

function factsOfRun({
  id,
  name,
  kind,
  run,
  status,
  state,
  runs,
  iterations,
  node,
  starts,
  interrupted,
  lastWords,
  lastFailure,
  updatedAt,
}: WorkerReport): Fact[] {
  return [
    ['id', <Id key="id" id={id} />],
    ['name', <Text key="name" text={name} isLine />],
    ['kind', <Text key="kind" text={kind} isLine />],
    ['state of its run', `${run} (${state}; ${status})`],
    ['runs', `${runs}, with ${count(iterations, 'model call')} in this one`],
    [
      'node',
      node === null ? null : (
        <span key="node" className="mono">
          {node}
        </span>
      ),
    ],
    ['starts since its last commit', starts > 1 ? starts : null],
    ['interrupted turns', interrupted > 0 ? interrupted : null],
    ['last words of its node', lastWords === null ? null : <Text key="words" text={lastWords} />],
    ['last failure', lastFailure === null ? null : <Text key="failure" text={failureSentence(lastFailure)} />],
    ['last changed', <Age key="age" since={updatedAt} />],
  ]
}

function factsOfUse({
  usage,
  permissions,
  configured,
  limits,
  mailbox,
  historyLength,
  openChildren,
}: WorkerReport): Fact[] {
  const { modelCalls, inputTokens, outputTokens, cacheReadTokens, toolCalls } = usage
  return [
    [
      'usage',
      modelCalls === undefined ? null : `${count(modelCalls, 'model call')}, ${inAndOut(inputTokens, outputTokens)}`,
    ],
    ['from the cache', cacheReadTokens ? `${cacheReadTokens} tokens` : null],
    ['tool calls', toolCalls ?? null],
    ['mailbox', `${mailbox.pending} waiting of at most ${limits.mailbox}`],
    ['history', historyLength === 1 ? '1 entry' : `${historyLength} entries`],
    ['open children', openChildren > 0 ? openChildren : null],
    ['permissions', permissions === null ? 'as its kind says' : <JsonText key="permissions" value={permissions} />],
    ['set for it', configured === null ? null : <Text key="configured" text={configurationText(configured)} />],
    ['limits', `${limits.workers} workers, ${limits.children} children at once, depth ${limits.depth}`],
  ]
}
