/** Duty: a tool call: its arguments, how it was decided, the children that it started, its steps, its result. */
import { Link } from '@tanstack/react-router'
import { type ReactNode, useContext } from 'react'
import type { ToolOutput } from '../../../../core/history/chat/chat-message.ts'
import type { SpawnNote } from '../../../../core/history/entry.ts'
import { formatDuration } from '../../../../words/duration.ts'
import { WorkerState } from '../../../parts/state/state.tsx'
import { JsonText } from '../../../parts/text/json.tsx'
import { Line, Text } from '../../../parts/text/text.tsx'
import { AskCard } from '../../approvals/ask-card.tsx'
import { SessionContext } from '../session-context.ts'
import type { CallItem } from './conversation.ts'

export function CallCard({ call }: { readonly call: CallItem }): ReactNode {
  return (
    <>
      <CallFold call={call} />
      <CallFollowers call={call} />
    </>
  )
}

function CallFold({ call }: { readonly call: CallItem }): ReactNode {
  const { toolName, block, steps, decision, result } = call
  return (
    <details className="call" data-status={statusOf(call)}>
      <summary>
        <span className="call-name mono">
          <Line text={toolName} />
        </span>
        <Line text={briefOf(block?.inputText ?? block?.input)} className="muted mono call-brief" />
        <span className="call-status">{statusText(call)}</span>
      </summary>
      <div className="call-body">
        {block !== null && (
          <Part title={block.inputText === undefined ? 'Arguments' : 'Arguments, which are no JSON'}>
            <JsonText value={block.inputText ?? block.input} />
          </Part>
        )}
        {decision !== null && <Decision decision={decision} />}
        {steps.length > 0 && (
          <Part title="Steps">
            {steps.map((step) => (
              <details key={step.id}>
                <summary className="mono">
                  <Text text={`${step.toolName}: ${step.status}`} isLine />
                </summary>
                <Output output={step.output} />
              </details>
            ))}
          </Part>
        )}
        {result !== null && (
          <Part title={result.status === 'ok' ? 'Result' : `Result: ${result.status}`}>
            <Output output={result.output} />
            {result.blob !== undefined && (
              <p className="muted">The whole result has {result.blob.bytes} bytes; this is its beginning.</p>
            )}
            {result.thrownAt !== undefined && (
              <p className="muted">
                thrown at <Text text={result.thrownAt} isLine />
              </p>
            )}
          </Part>
        )}
      </div>
    </details>
  )
}

/** Children and open questions of a call: they stand outside of what is folded. */
function CallFollowers({ call }: { readonly call: CallItem }): ReactNode {
  const { id: session } = useContext(SessionContext)
  return (
    <>
      {call.spawned.map((child) => (
        <Child key={child.id} child={child} />
      ))}
      {call.result === null && call.asks.map(({ id }) => <AskCard key={id} id={id} session={session} />)}
    </>
  )
}

function Child({ child: { id, kind, name, detached } }: { readonly child: SpawnNote }): ReactNode {
  const { report } = useContext(SessionContext)
  const worker = report?.workers.find((one) => one.id === id)
  return (
    <div className="child">
      <Link
        to="/sessions/$id"
        params={{ id: report?.session.id ?? '' }}
        search={(before) => ({ ...before, worker: id })}
      >
        <Line text={name} />
      </Link>
      {name !== kind && (
        <span className="muted">
          <Text text={kind} isLine />
        </span>
      )}
      {detached === true && <span className="tag">detached</span>}
      {worker !== undefined && <WorkerState activity={worker.activity} holdup={worker.holdup} />}
      {worker?.waitsFor != null && (
        <span className="muted cut">
          waits for <Text text={worker.waitsFor} isLine />
        </span>
      )}
    </div>
  )
}

function Decision({ decision }: { readonly decision: NonNullable<CallItem['decision']> }): ReactNode {
  const { tool, arguments: args, refused } = decision
  if (tool === undefined && args === undefined && refused === undefined) return null
  return (
    <Part title="Decided by code of the kind">
      {refused !== undefined && (
        <p className="bad">
          refused: <Text text={refused} />
        </p>
      )}
      {tool !== undefined && (
        <p>
          runs as <Text text={tool} isLine />
        </p>
      )}
      {args !== undefined && <JsonText value={args} />}
    </Part>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

function Output({ output }: { readonly output: ToolOutput }): ReactNode {
  if (output.type !== 'content') return <JsonText value={output.value} />
  return output.value.map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks of a message never move
    <JsonText key={index} value={block.type === 'text' ? block.text : { ...block, data: undefined }} />
  ))
}

type CallStatus = 'open' | 'waits' | 'ok' | 'error' | 'cancelled' | 'unknown'

function statusOf({ result, asks, spawned }: CallItem): CallStatus {
  if (result !== null) return result.status
  return asks.length > 0 || spawned.length > 0 ? 'waits' : 'open'
}

function statusText(call: CallItem): string {
  const { result, asks, spawned, startedAt } = call
  if (result === null)
    return asks.length > 0 ? 'waits for somebody' : spawned.length > 0 ? 'children at work' : 'running'
  const took = startedAt === null ? '' : ` in ${formatDuration(result.at - startedAt)}`
  if (result.approval === 'denied') return 'denied'
  return result.status === 'ok' ? `done${took}` : `${result.status}${took}`
}

function briefOf(input: unknown): string {
  const text = typeof input === 'string' ? input : (JSON.stringify(input) ?? '')
  return text.length > 160 ? `${text.slice(0, 160)}…` : text
}
