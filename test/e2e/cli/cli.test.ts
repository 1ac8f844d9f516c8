/** The command line as users meet it: child processes against a real Redis and a node. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CliProject, unknownId } from '../../cli/cli-project.ts'
import type { Ended } from '../../cli/command-line.ts'

const cli = new CliProject('use', { withNode: true })

describe.concurrent('troupe run', () => {
  it('troupe run prints text as text, and any other value as JSON', async () => {
    const [text, json] = await Promise.all([
      cli.project.ask(['run', 'echo', 'hello']),
      cli.project.ask(['run', 'echo', '{"a": [1]}']),
    ])
    expect(text).toMatchObject({ code: 0, stdout: 'hello\n' })
    expect(text.stderr).toMatch(/^\d\d:\d\d:\d\d {2}echo {2}done/m)
    expect(json).toMatchObject({ code: 0, stdout: '{\n  "a": [\n    1\n  ]\n}\n' })
  })

  it('troupe run escapes its result, unless --raw asks for the unchanged text', async () => {
    const text = 'a\u001b[2J\u200b'
    const [escaped, raw] = await Promise.all([
      cli.project.ask(['run', 'echo', text]),
      cli.project.ask(['run', 'echo', text, '--raw']),
    ])
    expect([escaped.stdout, raw.stdout]).toEqual(['a\\e[2J\\u200b\n', `${text}\n`])
  })

  it('troupe run is left alone by SIGHUP without a terminal, and still cancels on Ctrl+C', async () => {
    const running = cli.project.start(['run', 'waits'])
    await running.saw('started')
    running.kill('SIGHUP')
    running.kill('SIGINT')
    await running.saw('interrupted')
    expect(await running.ended).toMatchObject({ code: 130 })
  })

  it('troupe run prints events and the result as one object per line', async () => {
    const { code, objects } = await cli.project.ask(['run', 'parent', '--json'])
    expect(code).toBe(0)
    expect(objects[0]).toMatchObject({ type: 'session.created', details: { kind: 'parent' } })
    expect(objects.map(({ type }) => type)).toContain('worker.spawned')
    expect(objects.at(-2)).toMatchObject({ type: 'session.completed' })
    expect(objects.at(-1)).toMatchObject({ type: 'result', status: 'completed', value: 'both have ended' })
  })

  it('troupe run takes its input from stdin and from a file', async () => {
    const file = await cli.project.write('input.json', '[1, 2]\n')
    const [piped, read, none] = await Promise.all([
      cli.project.run(['run', 'echo', '-', '--json'], { stdin: 'from stdin\n' }),
      cli.project.ask(['run', 'echo', '--file', file, '--json']),
      cli.project.ask(['run', 'echo', '--json']),
    ])
    expect([piped, read, none].map(({ objects }) => objects.at(-1)?.value)).toEqual(['from stdin', [1, 2], null])
  })

  it('troupe run exits with 1 when the run failed, and escapes control characters of the failure', async () => {
    const [human, json] = await Promise.all([
      cli.project.ask(['run', 'fails']),
      cli.project.ask(['run', 'fails', '--json']),
    ])
    expect(human).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('handler_failed (handler): no \\e[31mluck'),
    })
    expect(human.stderr).not.toContain('\u001b')
    expect(human.stderr).toMatch(
      /\nTo let it go on with message inbox-0 \(input\): troupe session retry [0-9a-f-]{36}\n$/,
    )
    expect(json).toMatchObject({ code: 1 })
    expect(json.objects.at(-1)).toMatchObject({ type: 'result', status: 'failed', failure: { code: 'handler_failed' } })
  })

  it('troupe run runs a node itself if no live node hosts the kind, and says so', async () => {
    await cli.project.write(
      'more/workers/shout.ts',
      `import { defineWorker } from 'troupe'
export default defineWorker({ receive(message, self) { self.log.info('shouting', { at: 'you' }); self.reply(message.value.toUpperCase()) } })`,
    )
    const { code, stdout, stderr } = await cli.project.run(['run', 'shout', 'hey'], {
      cwd: join(cli.project.folder, 'more'),
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'HEY\n' })
    expect(stderr).toContain('no live node hosts shout: this process runs it, with the worker files of ./workers')
    expect(stderr).toMatch(/shout {2}info {2}shouting {2}at=you/)
  })

  it('troupe run says which options are ignored, because a live node hosts the kind', async () => {
    const { code, stdout, stderr } = await cli.project.ask([
      'run',
      'echo',
      'x',
      '--workers',
      'elsewhere',
      '--model',
      'a/b',
    ])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'x\n' })
    expect(stderr).toContain('a live node hosts echo and runs it; --workers elsewhere is ignored')
    expect(stderr).toContain('a live node hosts echo and chooses its model; --model a/b is ignored')
  })

  it('troupe run exits with 2 for an unknown kind, and names the known kinds', async () => {
    const { code, stdout, stderr } = await cli.project.ask(['run', 'ecko', 'x', '--json'])
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^troupe: there is no kind "ecko"; there are: .*babbles, echo, fails.*\. Did you mean echo\?\n$/,
    )
    expect(JSON.parse(stdout)).toMatchObject({ type: 'error', code: 'kind_unknown' })
  })

  it.each(["import 'node:fs'", 'export default 1'])(
    'troupe run says how to make a CommonJS worker file a module: %s',
    async (text) => {
      await cli.project.write('common/package.json', '{ "type": "commonjs" }')
      await cli.project.write('common/a.ts', text)
      const { code, stderr } = await cli.project.run(['run', 'a', '--workers', 'common'])
      expect(code).toBe(2)
      expect(stderr).toMatch(
        /a\.ts, line 1, cannot be loaded: SyntaxError: .*\. Its package\.json must say "type": "module": `npm pkg set type=module`\.\n$/,
      )
    },
  )

  it('troupe run names the place of a syntax error in a file that a worker file imports', async () => {
    await cli.project.write('unfit/a.cjs', "require('./_part.cjs')")
    await cli.project.write('unfit/_part.cjs', '\nexports.part = ;')
    const { code, stderr } = await cli.project.run(['run', 'a', '--workers', 'unfit'])
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /a\.cjs \(line 2 of \S+_part\.cjs\) cannot be loaded: SyntaxError: Unexpected token ';'\.\n$/,
    )
  })

  it('troupe run exits with 2 for a worker file that cannot be loaded, and names it', async () => {
    const file = await cli.project.write('broken/workers/oops.ts', 'export default 42')
    const ended = await cli.project.run(['run', 'oops'], { cwd: join(cli.project.folder, 'broken') })
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(file) })
  })

  it('troupe run sends the output of a worker file to stderr, whichever console it uses', async () => {
    const source = `import own, { log } from 'node:console'
import { defineWorker } from 'troupe'
console.log('on loading')
export default defineWorker({ receive(message, self) {
  console.log('global')
  own.info('imported')
  log('by name')
  self.reply(message.value)
} })`
    await cli.project.write('prints/workers/prints.ts', source)
    const cwd = join(cli.project.folder, 'prints')
    const { code, stdout, stderr } = await cli.project.run(['run', 'prints', 'said'], { cwd })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'said\n' })
    for (const line of ['on loading', 'global', 'imported', 'by name']) expect(stderr).toContain(`${line}\n`)
  })

  it('troupe run cancels its session on Ctrl+C and exits with 130', async () => {
    const running = cli.project.start(['run', 'waits', '--json', '--name', 'to be interrupted'])
    await running.saw('"run.started"', 'stdout')
    running.kill('SIGINT')
    const { code, objects, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stderr).toContain('interrupted')
    expect(objects.at(-1)).toMatchObject({ type: 'result', status: 'cancelled' })
    const { sessionId } = objects.at(-1) as { sessionId: string }
    const { objects: reports } = await cli.project.ask(['session', 'show', sessionId, '--json'])
    expect(reports[0]).toMatchObject({ session: { state: 'cancelled' } })
    // Its run was cancelled, and a job ends with its run.
    const details = expect.objectContaining({ what: 'run', reason: 'interrupted at the command line' })
    expect(objects).toContainEqual(expect.objectContaining({ type: 'worker.cancelRequested', details }))
  })
})

describe.concurrent('input', () => {
  it.each([
    [['run', 'echo', '{folder: "."}'], /the input is not valid JSON .*--as text/],
    [['submit', 'echo', 'x', '--as', 'json'], /the input is not valid JSON/],
    [['run', 'echo', '--file', 'none.json'], /none\.json cannot be read: there is no such file/],
    [['send', unknownId], /there is no message/],
    [['send', 'worker-1', 'x'], /"worker-1" is not a worker id/],
    [['session', 'show', '42'], /"42" is not a session id/],
    [['run', 'No Kind'], /is not a worker kind/],
    [['submit', 'echo', '--limit', 'worker=1'], /workers, children, depth, mailbox/],
    [['run', 'echo', 'x', '--permissions', 'folder=here'], /permissions.folder is an absolute path .*not "here"/],
    [['run', 'echo', 'x', '--key', ''], /'--key <key>' argument '' is invalid\. Expected a key that is not empty/],
    [['submit', 'echo', 'x', '--key', ''], /Expected a key that is not empty/],
    [['send', unknownId, 'x', '--key', ''], /Expected a key that is not empty/],
    [['session', 'prune', '--older-than', '7'], /"7" is not a duration/],
    [['session', 'list', '--redis-url', 'localhost'], /must begin with redis:/],
    [
      ['session', 'list', '--redis-url', 'redis://127.0.0.1:1/abc'],
      /the database in the Redis URL must be a whole number/,
    ],
    [['doctor', '--redis-url', 'redis://127.0.0.1:99999'], /the port in the Redis URL must be a whole number/],
    [['kinds', '--redis-url', 'redis://:pa#ss@127.0.0.1:1'], /Percent-encode user and password/],
    [['session', 'list', '--namespace', 'a b'], /--namespace "a b" is not valid/],
    [['node', '--log-level', 'loud'], /--log-level "loud" is not known/],
    [['sesion'], /unknown command 'sesion' \(Did you mean session\?\); see: troupe --help/],
    [['session', 'lst'], /unknown command 'lst' \(Did you mean list\?\); see: troupe session --help/],
    [['session', 'list', '--jsn'], /unknown option '--jsn' \(Did you mean --json\?\); see: troupe session list --help/],
    [
      ['--namespace', 'x', 'session', 'list'],
      /unknown option '--namespace' \(options stand behind the command\); see: troupe --help/,
    ],
    [['session', '--limit', '5', 'list'], /unknown option '--limit' \(options stand behind the command\)/],
    [['session', 'list', '--kind', 'No Kind'], /"No Kind" is not a worker kind/],
    [['help', 'foo'], /unknown command 'foo'; see: troupe --help/],
    [['help', 'sesion', 'list'], /unknown command 'sesion' \(Did you mean session\?\); see: troupe --help/],
    [['session', 'help', 'lst'], /unknown command 'lst' \(Did you mean list\?\); see: troupe session --help/],
    [['run'], /missing required argument 'kind'; see: troupe run --help/],
    [['worker'], /a command is missing/],
    [[], /a command is missing/],
  ])('%j is refused with exit code 2 and one sentence', async (args, sentence) => {
    const { code, stdout, stderr } = await cli.project.ask(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(sentence)
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/^troupe: /)
  })

  it('a wrong input gives an error object with --json', async () => {
    const { code, stdout } = await cli.project.ask(['session', 'list', '--json', '--limit', '0'])
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({ type: 'error', code: 'input_invalid' })
  })
})

describe.concurrent('troupe submit, send and session result', () => {
  it('hold a conversation', async () => {
    const { sessionId, workerId } = await cli.submit('tally', 'abc', '--keep-open', '--name', 'counting')
    const first = await cli.project.ask(['session', 'result', sessionId, '--wait', '--run', '1', '--json'])
    expect(first.objects).toEqual([{ type: 'result', sessionId, status: 'completed', run: 1, value: { total: 3 } }])

    const sent = await cli.project.ask(['send', workerId, 'de', '--json', '--key', 'once'])
    expect(sent.objects[0]).toMatchObject({ type: 'sent', workerId })
    expect((await cli.project.ask(['send', workerId, 'de', '--key', 'once'])).stdout).toContain(
      `accepted by worker ${workerId}`,
    )
    const second = await cli.project.ask(['session', 'result', sessionId, '--wait', '--run', '2'])
    expect(second).toMatchObject({ code: 0, stdout: '{\n  "total": 5\n}\n' })
    expect((await cli.project.ask(['session', 'result', sessionId])).stdout).toContain('"total": 5')
  })

  it('submissions create one session for one key', async () => {
    const [one, two] = [await cli.submit('echo', 'x', '--key', 'k1'), await cli.submit('echo', 'x', '--key', 'k1')]
    expect(two.sessionId).toBe(one.sessionId)
  })

  it('sends under one key post once, and say that a repetition added nothing', async () => {
    const { workerId } = await cli.submit('tally', 'x', '--keep-open')
    const send = (text: string) => cli.project.ask(['send', workerId, text, '--key', 'k2', '--json'])
    const [one, two, three] = [await send('a'), await send('a'), await send('b')]
    expect(one).toMatchObject({ code: 0, stderr: '', objects: [{ position: 1, again: false, warning: null }] })
    const warning = expect.stringMatching(/^its idempotency key was used before: .* and nothing was added\.$/)
    expect(two).toMatchObject({ code: 0, objects: [{ position: 1, again: true, warning }] })
    expect(two.stderr).toMatch(/^troupe: its idempotency key was used before/)
    expect(three).toMatchObject({ code: 0, objects: [{ position: 1, again: true }] })
    expect(three.stderr).toMatch(/^troupe: its idempotency key was used before, for something else: /)
  })

  it('submissions print ids for people, and warn if no live node hosts the kind', async () => {
    const { code, stdout, stderr } = await cli.project.ask(['submit', 'nobody', 'x'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^session [0-9a-f-]{36}\nworker {2}[0-9a-f-]{36}\n$/)
    expect(stderr).toContain('nobody')
    await cli.project.ask(['session', 'cancel', stdout.slice(8, 44)])
  })

  it('session results report a run that has not ended, and an unknown worker', async () => {
    const { sessionId } = await cli.submit('waits')
    const early = await cli.project.ask(['session', 'result', sessionId, '--json'])
    expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining('--wait') })
    await cli.project.ask(['session', 'cancel', sessionId])
    const unknown = await cli.project.ask(['send', unknownId, 'x', '--json'])
    expect(unknown).toMatchObject({ code: 1 })
    expect(unknown.objects[0]).toMatchObject({ type: 'error', code: 'worker_not_found' })
  })
})

describe.concurrent('troupe node', () => {
  it('troupe node drains on SIGTERM and exits with 0', async () => {
    const second = cli.project.start(['node', '--json', '--concurrency', '3', '--namespace', `${cli.namespace}-node`])
    await second.saw('"ready"', 'stdout')
    second.kill('SIGTERM')
    const { code, objects, stderr } = await second.ended
    expect({ code, objects }).toMatchObject({
      code: 0,
      objects: [{ type: 'ready', concurrency: 3, pid: second.child.pid }],
    })
    for (const line of stderr.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ level: 30 })
  })

  it('troupe node exits with 2 without worker files, and for a pool without kinds', async () => {
    const [none, pool] = await Promise.all([
      cli.project.ask(['node', '--workers', './nowhere']),
      cli.project.run(['node', '--pool', 'gpu', '--json']),
    ])
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('nowhere') })
    expect(pool).toMatchObject({ code: 2, stderr: expect.stringContaining('the pools are default') })
    expect(pool.objects[0]).toMatchObject({ type: 'error', code: 'config_invalid' })
  })
})

describe.concurrent('output', () => {
  it('output that nobody reads ends the writing, not the command', async () => {
    const command = cli.project.start(['run', 'parent', '--json'])
    command.child.stdout?.destroy()
    const { code, stderr } = await command.ended
    expect(code).toBe(0)
    expect(stderr).not.toMatch(/EPIPE|at .*\.ts:/)
  })

  it('output has colours only on demand', async () => {
    expect((await cli.project.ask(['doctor'])).stdout).not.toContain('\u001b')
    expect((await cli.project.run(['doctor'], { env: { FORCE_COLOR: '1' } })).stdout).toContain('\u001b[32m')
  })

  it.each([
    [['help'], []],
    [['help', 'session'], ['session']],
    [
      ['help', 'session', 'list'],
      ['session', 'list'],
    ],
    [['session', 'help'], ['session']],
    [
      ['session', 'help', 'list'],
      ['session', 'list'],
    ],
  ])('the output of %j is that of --help', async (args, command) => {
    const [help, flag] = await Promise.all([cli.project.ask(args), cli.project.ask([...command, '--help'])])
    expect(help).toMatchObject({ code: 0, stdout: flag.stdout, stderr: '' })
  })

  it('the output of every --help has examples and fits into 80 columns', async () => {
    const groups = {
      session: ['list', 'show', 'tree', 'result', 'close', 'cancel', 'prune'],
      worker: ['list', 'show', 'history'],
      mailbox: ['list', 'dead', 'redrive'],
    }
    const commands = ['run', 'submit', 'send', 'node', 'demo', 'kinds', 'doctor'].map((name) => [name])
    for (const [noun, verbs] of Object.entries(groups)) commands.push([noun], ...verbs.map((verb) => [noun, verb]))
    const helps = await Promise.all(commands.map((command) => cli.project.ask([...command, '--help'])))
    for (const [index, { code, stdout, stderr }] of helps.entries()) {
      const what = commands[index]?.join(' ')
      expect({ what, code, stderr }).toEqual({ what, code: 0, stderr: '' })
      expect({ what, stdout }).toMatchObject({ stdout: expect.stringContaining('Examples:\n  $ ') })
    }
    const { stdout } = await cli.project.ask(['--help'])
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    const manifest = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      version: string
    }
    expect(await cli.project.ask(['--version'])).toMatchObject({
      code: 0,
      stdout: `${manifest.version}\n`,
    } satisfies Partial<Ended>)
  })
})
