/** Which changed files reload a node of `troupe dev`. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SourceWatch } from '../../../src/cli/host/child/source-watch.ts'

test('a folder or file that is named is watched even if its name begins with a dot, and hidden files in it are not', async () => {
  const base = await mkdtemp(join(tmpdir(), 'watch-'))
  onTestFinished(() => rm(base, { recursive: true }))
  const [workers, env] = [join(base, '.workers'), join(base, '.env.local')]
  await mkdir(workers)
  const changed: string[] = []
  await using _watch = await SourceWatch.open(
    [workers, env],
    (files) => changed.push(...files),
    (error) => expect.fail(String(error)),
  )
  const [hidden, seen] = [join(workers, '.hidden.ts'), join(workers, 'echo.ts')]
  for (const file of [hidden, seen, env]) await writeFile(file, 'x')
  await expect.poll(() => [...new Set(changed)].sort()).toEqual([env, seen])
})
