/** The bounds of a node: how long a stop waits for turns, how long its namespace keeps finished sessions, and the folder of its workers. */
import { Redis } from 'ioredis'
import { expect, inject, it } from 'vitest'
import { partitionKeys, tagOf } from '../../../../src/store/keys.ts'
import { CliProject } from '../../../cli/cli-project.ts'

const cli = new CliProject('times', { withNode: false })

it('a node respects the retention and the drain time that it was started with', async () => {
  const worker = `{ async receive(message, self) { self.log.info('stays'); await new Promise(() => {}) } }`
  const source = `import { defineWorker } from 'troupe'\nexport default defineWorker(${worker})\n`
  const path = await cli.project.write('slow/stays.ts', source)
  const node = cli.project.start([
    'node',
    '--workers',
    path.replace('/stays.ts', ''),
    '--retention',
    '30d',
    '--drain',
    '0',
  ])
  await node.saw('is ready', 'stdout')
  await cli.submit('stays', 'x')
  await node.saw('"stays"')
  node.kill('SIGTERM')
  const { code, stderr } = await node.ended
  expect(code).toBe(0)
  expect(stderr).toContain('the drain time of 0 s is over')
  const redis = new Redis(inject('redisUrl'))
  expect(await redis.hget(partitionKeys(tagOf(cli.namespace, 0)).meta, 'retentionMs')).toBe('2592000000')
  redis.disconnect()
})

it.each([
  [['--retention', '59s'], "option '--retention <duration>' argument '59s' is invalid. Expected at least a minute"],
  [['--folder', ''], 'Expected a folder that exists'],
  [['--folder', 'nowhere'], 'Expected a folder that exists'],
  [['--folder', 'package.json'], 'Expected a folder that exists'],
  [['--drain', 'soon'], `"soon" is not a duration`],
])('%j is refused', async (flags, sentence) => {
  const { code, stderr } = await cli.project.run(['node', ...flags])
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(sentence) })
})
