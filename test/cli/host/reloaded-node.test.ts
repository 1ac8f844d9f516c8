/** Versions of code that follow each other faster than their processes begin. The processes are stand-ins: this is about which of them is killed. */
import { expect, test } from 'vitest'
import type { ChildNode } from '../../../src/cli/host/child/child-node.ts'
import { ReloadedNode } from '../../../src/cli/host/child/reloaded-node.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const children: StandIn[] = []

class StandIn {
  readonly started = Promise.withResolvers<string>()
  readonly ended = new Promise<never>(() => {})
  readonly drains = Promise.resolve()
  readonly calls: string[] = []
  async load() {
    return { kinds: [{ kind: 'echo' }], problems: [], skipped: [], sources: [] }
  }
  start(): Promise<string> {
    this.calls.push('start')
    return this.started.promise
  }
  async stop(): Promise<void> {
    this.calls.push('stop')
  }
  async kill(): Promise<void> {
    this.calls.push('kill')
    this.started.reject(new Error('killed'))
  }
}

function newStandIn(): ChildNode {
  const child = new StandIn()
  children.push(child)
  return child as unknown as ChildNode
}

test('a change of code kills no process that begins to work: it may have turns (RELOAD-1)', async () => {
  const began: unknown[] = []
  const node = new ReloadedNode(
    {} as never,
    '',
    {
      onChange: (change) => began.push(change.type === 'began' ? change.nodeId : change),
      onLog: () => {},
      onOutput: () => {},
    },
    newStandIn,
  )
  const first = node.reload()
  await waitUntil('the first process begins', () => children[0]?.calls.length === 1)
  const second = node.reload()
  for (const name of ['a', 'b']) {
    await waitUntil(`process ${name} begins`, () => children.at(-1)?.calls.at(-1) === 'start')
    children.at(-1)?.started.resolve(name)
    await (name === 'a' ? first : second)
  }
  expect(began).toEqual(['a', 'b'])
  expect(children.map(({ calls }) => calls)).toEqual([['start', 'stop'], ['start']])
})
