/** Duty: what a worker or a session does, and how an endpoint or a delivery stands, as a form, a colour and a word. */
import type { ReactNode } from 'react'
import type { Holdup } from '../../../client/holdup.ts'
import type { WorkerReport } from '../../../client/report.ts'
import type { ListedState } from '../../../client/session/session-state.ts'
import type { NodeSummary } from '../../../client/summaries.ts'
import type { DeliveryState, Webhook } from '../../../client/webhook/webhook.ts'
import type { Activity } from '../../../core/worker/run/activity.ts'
import { nodeState } from '../../../words/node-state.ts'

type Look = 'busy' | 'queued' | 'waiting' | 'needs' | 'good' | 'bad' | 'off' | 'paused'

const lookOfActivity: Readonly<Record<Activity, Look>> = {
  queued: 'queued',
  working: 'busy',
  thinking: 'busy',
  answering: 'busy',
  'using a tool': 'busy',
  waiting: 'waiting',
  paused: 'paused',
  done: 'good',
  failed: 'bad',
  cancelled: 'off',
  'put aside': 'bad',
}

const lookOfState: Readonly<Record<ListedState, Look>> = {
  active: 'busy',
  completed: 'good',
  failed: 'bad',
  cancelling: 'off',
  cancelled: 'off',
  damaged: 'bad',
}

/** `spoken`: what the form says, for those who hear the page. */
function State({
  look,
  word,
  spoken,
}: {
  readonly look: Look
  readonly word: string
  readonly spoken?: string
}): ReactNode {
  return (
    <span className="state" data-look={look}>
      {word}
      {spoken !== undefined && <span className="spoken"> {spoken}</span>}
    </span>
  )
}

export function WorkerState({ activity, holdup }: Pick<WorkerReport, 'activity' | 'holdup'>): ReactNode {
  const needsSomebody = holdup?.needsSomebody === true && (activity === 'waiting' || activity === 'queued')
  if (needsSomebody) return <State look="needs" word={activity} spoken="needs somebody" />
  return <State look={lookOfActivity[activity]} word={activity} />
}

interface SessionStateProps {
  readonly state: ListedState
  readonly isPaused?: boolean
  /** True for a conversation that waits for its next message. */
  readonly rests?: boolean
  /** True if somebody must do something before it goes on. */
  readonly needsSomebody?: boolean
}

export function SessionState({
  state,
  isPaused = false,
  rests = false,
  needsSomebody = false,
}: SessionStateProps): ReactNode {
  if (state === 'active' && isPaused) return <State look="paused" word="paused" />
  if (state === 'active' && needsSomebody) return <State look="needs" word="needs you" />
  if (state === 'active' && rests) return <State look="waiting" word="open" />
  return <State look={lookOfState[state]} word={state} />
}

/** Silent: the node has not reported lately. Stalled: it has not reported for so long that its leases have ended. */
export function NodeState({
  node,
  isSilent,
}: {
  readonly node: Pick<NodeSummary, 'stalled' | 'draining'>
  readonly isSilent: boolean
}): ReactNode {
  if (node.stalled) return <State look="bad" word={nodeState(node)} />
  if (isSilent) return <State look="needs" word="silent" />
  return <State look={node.draining === undefined ? 'good' : 'waiting'} word={nodeState(node)} />
}

const lookOfEndpoint: Readonly<Record<Webhook['state'], Look>> = { enabled: 'good', failing: 'bad', disabled: 'off' }

export function EndpointState({ state }: Pick<Webhook, 'state'>): ReactNode {
  return <State look={lookOfEndpoint[state]} word={state} />
}

const lookOfDelivery: Readonly<Record<DeliveryState, Look>> = {
  waiting: 'queued',
  sending: 'busy',
  retrying: 'needs',
  delivered: 'good',
  failed: 'bad',
}

export function DeliveryStateWord({ state }: { readonly state: DeliveryState }): ReactNode {
  return <State look={lookOfDelivery[state]} word={state} />
}

/** True if one of these holdups does not end by itself. A wait for the next message of a conversation does not count: that may never come. */
export function needsSomebody(holdups: readonly Holdup[]): boolean {
  return holdups.some((holdup) => holdup.needsSomebody && holdup.reason !== 'message')
}
