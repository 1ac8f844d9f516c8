/** `troupe serve` as a process: what it says of who may call it, and how it ends. */
import { describe, expect, it } from 'vitest'
import { CliProject } from '../../../cli/cli-project.ts'

const cli = new CliProject('serve', { withNode: false })
const addressIn = (text: string) => /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] ?? ''
const open = 'whoever reaches it may do everything'

describe('troupe serve', () => {
  it('troupe serve says that it needs no token, and stops by a signal while a stream is open', async () => {
    const serving = cli.project.start(['serve', '--port', '0'])
    await serving.saw(open, 'stdout')
    const stream = await fetch(`${addressIn(serving.stdout)}/v1/events`)
    expect(stream.status).toBe(200)
    serving.kill('SIGTERM')
    await expect(stream.text()).rejects.toThrow('terminated')
    expect(await serving.ended).toMatchObject({ code: 0 })
  })

  it('troupe serve lets nobody in without the token of its environment', async () => {
    const token = 'x'.repeat(40)
    const serving = cli.project.start(['serve', '--port', '0'], { env: { TROUPE_TOKEN: token } })
    await serving.saw('the API is at', 'stdout')
    const ask = async (headers: Record<string, string>) =>
      (await fetch(`${addressIn(serving.stdout)}/v1/nodes`, { headers })).status
    expect([await ask({}), await ask({ authorization: `Bearer ${token}` })]).toEqual([401, 200])
    expect(serving.stdout).not.toContain(open)
    serving.kill('SIGTERM')
    await serving.ended
  })

  it('troupe serve listens for others only with a token', async () => {
    const { code, stderr } = await cli.project.run(['serve', '--host', '0.0.0.0', '--port', '0'])
    expect(code).toBe(2)
    expect(stderr).toContain('has no token: set TROUPE_TOKEN')
  })
})
