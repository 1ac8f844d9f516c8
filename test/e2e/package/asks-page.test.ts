/** The worker and the shell script of docs/asks.md, as a reader would copy and try them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, inject, it } from 'vitest'
import { CliProject } from '../../cli/cli-project.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const cli = new CliProject('asks-page', { withNode: false })

/** The first block of this language that the page shows after it names the file. */
function blockOf(page: string, language: string, file: string): string {
  const block = page.slice(page.indexOf(`\`${file}\``)).match(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``))?.[1]
  if (block === undefined) throw new Error(`docs/asks.md shows no ${file}.`)
  return block
}

it('the order waits until the webhook says that it is paid, and takes that once', async () => {
  const { project } = cli
  const page = await readFile(join(repository, 'docs', 'asks.md'), 'utf8')
  await project.write('workers/order.ts', blockOf(page, 'ts', 'workers/order.ts'))
  await project.write('webhook.sh', blockOf(page, 'sh', 'webhook.sh'))
  await symlink(join(repository, 'node_modules', 'zod'), join(project.folder, 'node_modules', 'zod'), 'junction')
  // `npx troupe` of this repository.
  const main = join(repository, 'src', 'cli', 'main.ts')
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" --conditions=troupe-source "${main}" "$@"\n`
  await chmod(await project.write('bin/npx', npx), 0o755)
  const webhook = async (...args: string[]) => {
    const PATH = `${join(project.folder, 'bin')}:${process.env.PATH ?? ''}`
    const env = { ...process.env, PATH, TROUPE_REDIS_URL: inject('redisUrl'), TROUPE_NAMESPACE: cli.namespace }
    const child = spawn('sh', ['webhook.sh', ...args], { cwd: project.folder, env })
    let told = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (told += String(text)))
    const [code] = (await once(child, 'close')) as [number]
    return { code, told }
  }

  const running = project.start(['run', 'order', '17'])
  await running.saw(/waits for the signal paid \(answer with: troupe ask answer [0-9a-f-]{36} '<json>'\)/)
  await running.saw(/info {2}waits for the payment {2}order=17 {2}ask=/)
  const ask = /ask=([0-9a-f-]{36})/.exec(running.stderr)?.[1] as string
  expect((await cli.both('ask', 'list')).text).toMatch(/ order +the signal "paid" /)
  await waitUntil('its session says what it waits for', async () =>
    (await cli.both('session', 'list')).text.includes('an answer, for '),
  )
  expect(await webhook(ask, '{"okay":true}')).toMatchObject({ code: 2, told: expect.stringContaining('does not fit') })
  expect(await webhook(ask, '{"ok":true}')).toMatchObject({ code: 0, told: expect.stringContaining('goes on') })
  expect(await running.ended).toMatchObject({ code: 0, stdout: 'shipped\n' })
  expect(await webhook(ask, '{"ok":true}')).toMatchObject({
    code: 0,
    told: expect.stringContaining('answered so before'),
  })
  expect(await webhook(ask, '{"ok":false}')).toMatchObject({
    code: 1,
    told: expect.stringContaining('an ask takes one answer'),
  })
})
