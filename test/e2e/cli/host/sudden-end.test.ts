/** The command line when code of a worker file ends its process: it names the place, and says what happens to the session. */
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CliProject } from '../../../cli/cli-project.ts'

const cli = new CliProject('ends', { withNode: false })

/** A node that ended suddenly counts as live for a while, so that each test has a namespace of its own. */
async function placeOf(kind: string, receive: string, top = ''): Promise<string[]> {
  const source = `import { defineWorker } from 'troupe'\n${top}\nexport default defineWorker({ receive(message, self) {\n${receive}\n} })\n`
  const folder = dirname(await cli.project.write(`of-${kind}/${kind}.ts`, source))
  return ['--workers', folder, '--namespace', `${cli.namespace}-${kind}`]
}

const notLost = /The session is not lost\. Get its result later with: troupe session result [0-9a-f-]{36} --wait$/m

describe.concurrent('an uncaught error', () => {
  it('an uncaught error ends a run with exit code 70, its place, and the command for the result', async () => {
    const place = await placeOf('leaks', "  void Promise.reject(new TypeError('no luck'))\n  self.after(60_000, 1)")
    const more = ['--namespace', `${cli.namespace}-leaks-json`, '--json']
    const [human, json] = await Promise.all([
      cli.project.run(['run', 'leaks', ...place]),
      cli.project.run(['run', 'leaks', ...place, ...more]),
    ])
    expect(human).toMatchObject({ code: 70, stdout: '' })
    expect(human.stderr).toMatch(
      /^troupe: no code caught this error: TypeError: no luck, at of-leaks\/leaks\.ts:4:\d+\. /m,
    )
    expect(human.stderr).toMatch(notLost)
    expect(human.stderr).not.toMatch(/^ +at /m)
    const last = json.objects.at(-1)
    expect(json.code).toBe(70)
    expect(last).toMatchObject({ type: 'error', code: 'uncaught', message: expect.stringMatching(notLost) })
    expect(last?.message).toContain(`troupe session result ${String(last?.sessionId)} --wait`)
  })

  it.each([
    ['stack', "Object.assign(new Error('odd'), { stack: 7 })", 'error: Error: odd'],
    ['message', "Object.assign(new Error('odd'), { message: Symbol('odd') })", 'error: Error: Symbol(odd)'],
    ['name', "Object.defineProperty(new Error('odd'), 'name', { get() { throw 1 } })", 'cannot be read'],
  ])('an uncaught error is named in a sentence though its %s is odd', async (field, error, sentence) => {
    const place = await placeOf(`odd-${field}`, `  setTimeout(() => { throw ${error} }, 1)\n  self.after(60_000, 1)`)
    const { code, stderr } = await cli.project.run(['run', `odd-${field}`, ...place])
    expect({ code, stderr }).toMatchObject({ code: 70, stderr: expect.stringContaining(sentence) as string })
  })

  it('an uncaught error may be a rejection with any value, which is shown unchanged', async () => {
    const place = await placeOf('rejects', "  void Promise.reject('just so')\n  self.after(60_000, 1)")
    const { code, stderr } = await cli.project.run(['run', 'rejects', ...place])
    expect({ code, stderr }).toMatchObject({
      code: 70,
      stderr: expect.stringContaining('error: just so. This process'),
    })
  })

  it('a worker that calls self too late ends no run: the node says where, and goes on', async () => {
    const late = "  if (message.kind !== 'input') return\n  setTimeout(() => self.reply(1), 1)"
    const place = await placeOf('late', late)
    const node = cli.project.start(['node', ...place, '--json'])
    await node.saw('"ready"', 'stdout')
    const { workerId, sessionId } = await cli.submit('late', ...place.slice(2))
    await node.saw('await everything', 'stderr')
    await cli.submit('late', ...place.slice(2))
    await node.saw(/await everything[\s\S]*await everything/, 'stderr')
    node.kill('SIGTERM')
    const { code, stderr } = await node.ended
    expect(code).toBe(0)
    const lines = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.find(({ msg }) => String(msg).includes('await everything'))).toMatchObject({
      level: 50,
      kind: 'late',
      worker: workerId,
      session: sessionId,
      stack: expect.stringMatching(/^Error: .*\n +at .*late\.ts:5:\d+/) as string,
    })
  })
})

describe.concurrent('a call of process.exit', () => {
  it('a handler that calls process.exit is reported with its place', async () => {
    const place = await placeOf('exits', '  process.exit(7)')
    const { code, objects, stderr } = await cli.project.run(['run', 'exits', ...place, '--json'])
    expect(code).toBe(7)
    expect(stderr).toMatch(
      /^troupe: something in this process called process\.exit\(7\), at \S+\/exits\.ts:4:11, before /m,
    )
    expect(objects.at(-1)).toMatchObject({ type: 'error', code: 'uncaught', message: expect.stringMatching(notLost) })
  })

  it('a process.exit with code 0 is no success', async () => {
    const place = await placeOf('leaves', '  process.exit(0)')
    expect(await cli.project.run(['run', 'leaves', ...place])).toMatchObject({ code: 70, stdout: '' })
  })

  it.each([['kinds'], ['run', 'quits'], ['node']])(
    'a worker file that calls process.exit while it loads is reported with the file: %s',
    async (...args) => {
      const place = await placeOf('quits', '', 'process.exit(3)')
      const { code, stderr } = await cli.project.run([...args, ...place])
      expect(code).toBe(3)
      expect(stderr).toMatch(
        /something in this process called process\.exit\(3\), at \S+\/quits\.ts:2:9, before the command had ended\./,
      )
    },
  )
})
