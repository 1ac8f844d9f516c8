/** Duty: the screen of nodes and pools: who is there, how much waits, and what `troupe doctor` finds. */
import { type ReactNode, useState } from 'react'
import { count } from '../../../cli/view/amounts.ts'
import { formatDuration } from '../../../cli/view/duration.ts'
import type { NodeSummary } from '../../../client/summaries.ts'
import { change } from '../../api/http.ts'
import { type HealthView, queries, useHealth, useNodes } from '../../api/queries.ts'
import { useTitle } from '../../app/title.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Empty, Waiting } from '../../parts/empty.tsx'
import { Findings } from '../../parts/findings.tsx'
import { say, sayError } from '../../parts/notes.tsx'
import { Line, Text } from '../../parts/text.tsx'
import { Age } from '../../parts/time.tsx'

export function FleetScreen(): ReactNode {
  useTitle('Fleet')
  const nodes = useNodes()
  const health = useHealth()
  return (
    <div className="screen-body">
      <section className="box" aria-label="Nodes">
        <div className="box-head">
          <h2>Nodes</h2>
          {health.data !== undefined && <PauseAll paused={health.data.paused} />}
        </div>
        <Waiting query={nodes} what="nodes" />
        {nodes.data?.nodes.length === 0 && (
          <Empty commands={['troupe node', 'troupe dev']}>No node is live, so nothing runs. Start one:</Empty>
        )}
        {nodes.data !== undefined && nodes.data.nodes.length > 0 && <NodeTable nodes={nodes.data.nodes} />}
      </section>
      {health.data !== undefined && <Pools health={health.data} />}
      <section className="box" aria-label="Findings">
        <div className="box-head">
          <h2>What doctor finds</h2>
        </div>
        <Waiting query={health} what="the health of Redis, nodes and queues" />
        {health.data !== undefined && <Findings findings={byLevel(health.data)} />}
      </section>
    </div>
  )
}

const levels = ['problem', 'warning', 'ok']

function byLevel({ findings }: HealthView): HealthView['findings'] {
  return findings.toSorted((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level))
}

function NodeTable({ nodes }: { readonly nodes: readonly NodeSummary[] }): ReactNode {
  return (
    <div className="table-wrap">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Host</th>
            <th scope="col" className="number">
              Slots
            </th>
            <th scope="col" className="wide">
              Pools
            </th>
            <th scope="col" className="wide">
              Kinds
            </th>
            <th scope="col" className="number">
              Last seen
            </th>
          </tr>
        </thead>
        <tbody>
          {nodes.map(({ id, host, pid, slots, pools, kinds, lastSeenMs }) => (
            <tr key={id}>
              <td className="mono">
                <Line text={id} />
              </td>
              <td>
                <Text text={`${host ?? 'unknown'}${pid === null ? '' : ` (${pid})`}`} isLine />
              </td>
              <td className="number">{slots}</td>
              <td className="wide">
                <Text text={pools.join(', ')} isLine />
              </td>
              <td className="wide kinds-cell" title={kinds.join(', ')}>
                <Line text={kinds.join(', ')} />
              </td>
              <td className="number">{formatDuration(lastSeenMs)} ago</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Pools({ health: { pools, running, timers } }: { readonly health: HealthView }): ReactNode {
  return (
    <section className="box" aria-label="Pools">
      <div className="box-head">
        <h2>Pools</h2>
        <span className="muted">
          {count(running, 'turn')} running, {count(timers, 'timer')} set
        </span>
      </div>
      <div className="table-wrap">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Pool</th>
              <th scope="col" className="number">
                Waiting workers
              </th>
              <th scope="col" className="number">
                Oldest waits
              </th>
              <th scope="col" className="number">
                Busy
              </th>
            </tr>
          </thead>
          <tbody>
            {pools.map(({ pool, queued, oldestMs, busy }) => (
              <tr key={pool}>
                <td>
                  <Text text={pool} isLine />
                </td>
                <td className="number">{queued}</td>
                <td className="number">{oldestMs === null ? '–' : formatDuration(oldestMs)}</td>
                <td className="number">{busy}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function PauseAll({ paused }: Pick<HealthView, 'paused'>): ReactNode {
  const [isAsking, setAsking] = useState(false)
  const [reason, setReason] = useState('')
  const act = async (path: 'pause' | 'resume', body: object, done: string) => {
    setAsking(false)
    try {
      await change('POST', path, { body })
      say({ text: done })
      await queries.invalidateQueries({ queryKey: ['health'] })
    } catch (error) {
      sayError(error)
    }
  }
  if (paused !== null)
    return (
      <>
        <span className="tag warn">
          all sessions are paused since <Age since={paused.at} />
        </span>
        <button type="button" className="button main" onClick={() => void act('resume', {}, 'Everything goes on.')}>
          Resume everything
        </button>
      </>
    )
  const onSubmit = () =>
    void act('pause', reason.trim() === '' ? {} : { reason: reason.trim() }, 'No node takes up work any more.')
  return (
    <>
      <button type="button" className="button harsh" onClick={() => setAsking(true)}>
        Pause everything
      </button>
      {isAsking && (
        <Dialog
          title="Pause all sessions"
          submit="Pause everything"
          isHarsh
          onSubmit={onSubmit}
          onClose={() => setAsking(false)}
        >
          <p>
            No node takes up work until somebody resumes, and turns end at their next step. What is sent waits in its
            order.
          </p>
          <label className="labelled">
            <span className="label">Why? (May be left out.)</span>
            <input className="field" value={reason} onChange={({ target }) => setReason(target.value)} />
          </label>
        </Dialog>
      )}
    </>
  )
}
