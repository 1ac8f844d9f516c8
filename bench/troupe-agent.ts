/**
 * Duty: the agent of agent-script.ts as a turn of two recorded steps: the model's reply is committed before the tool runs, the
 * tool's result and the answer end the run. It stands in for the model loop with the commits that loop will make.
 */
import { completedEntry, entryJson } from '../src/core/entry.ts'
import type { Kind } from '../src/runtime/kind.ts'
import { emptyStep, type RunPosition } from '../src/runtime/step.ts'
import type { Turn } from '../src/runtime/turn.ts'
import { type AgentMessage, replyOfModel, resultOfTool } from './agent-script.ts'

export const agentKindName = 'agent'

export const agentKind: Kind = {
  name: agentKindName,
  pool: 'default',
  description: 'The two-step agent of the bench.',
  definition: null,
  behaviour: advance,
}

async function advance(turn: Turn): Promise<void> {
  const { grant } = turn
  const mail = grant.mail.user[0]
  if (mail === undefined) return turn.end('any')
  const history: AgentMessage[] = [
    { role: 'user', content: String(mail.message.kind === 'input' ? mail.message.value : '') },
  ]
  const head = [grant.run, grant.epoch, Date.now()] as const
  const reply = replyOfModel(history)
  history.push(reply)
  turn.record({
    ...emptyStep(positionAfter(turn, 'ExecutingTools', true)),
    entries: [
      entryJson('received', ...head, { message: mail.message }),
      entryJson('received', ...head, { message: reply }),
    ],
    userUsed: 1,
    failure: null,
    notes: [['run.started']],
  })
  await turn.settled()
  if (reply.role !== 'assistant' || reply.toolCall === undefined) throw new Error('the model asks for its tool first')
  const result = resultOfTool(reply.toolCall)
  history.push(result)
  const answer = replyOfModel(history)
  turn.record({
    ...emptyStep({ ...positionAfter(turn, 'Idle', false), run: grant.run + 1 }),
    entries: [
      entryJson('received', ...head, { message: result }),
      completedEntry(...head, JSON.stringify(answer.content)),
    ],
    outcome: 'completed',
    notes: [['run.completed']],
  })
  return turn.end('any')
}

function positionAfter(turn: Turn, runState: RunPosition['runState'], open: boolean): RunPosition {
  return { run: turn.grant.run, calls: 0, runState, open, attempt: 0, retrying: '', awaits: [], timersOpen: 0 }
}
