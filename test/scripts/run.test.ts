/** Running the command after the set-up. */
import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const scripts = new URL('../../scripts/', import.meta.url)

/** A project with this name that needs no packages. */
async function projectIn(name: string): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-run-')))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const folder = join(root, name)
  await mkdir(join(folder, 'node_modules'), { recursive: true })
  for (const script of ['dependencies.mjs', 'run.mjs', 'with-node.mjs'])
    await cp(new URL(script, scripts), join(folder, 'scripts', script))
  for (const file of ['package-lock.json', 'node_modules/.package-lock.json'])
    await writeFile(join(folder, file), '{"packages":{}}')
  return folder
}

test('a current folder that is gone is named by the error, and not the program', async () => {
  const folder = await projectIn('project')
  await cp(new URL('troupe.mjs', scripts), join(folder, 'scripts/troupe.mjs'))
  const gone = join(folder, 'gone')
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'scripts/troupe.mjs')], {
    encoding: 'utf8',
    env: { ...process.env, INIT_CWD: gone },
  })
  expect([status, stderr]).toEqual([1, `The folder ${gone} does not exist: change to another folder.\n`])
})

function run(folder: string, ...words: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'scripts/with-node.mjs'), ...words], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

test('the command has the terminal, and its exit code is passed on', async () => {
  const folder = await projectIn('project')
  expect(run(folder, 'node', '-p', 'process.exitCode = 7')).toEqual({ status: 7, stdout: '7\n', stderr: '' })
})

test('the Node of the repository is found by its package, because some versions of npm leave out its link', async () => {
  const folder = await projectIn('project')
  const node = join(folder, 'node_modules/our-node')
  await mkdir(join(node, 'bin'), { recursive: true })
  await writeFile(join(node, 'package.json'), '{"bin":{"node":"bin/node"}}')
  await writeFile(join(node, 'bin/node'), '#!/bin/sh\necho "our Node: $*"\n', { mode: 0o755 })
  await mkdir(join(folder, 'scripts/node'))
  const optionalDependencies = { 'node-of-others': '24.0.0', 'our-node': '24.0.0' }
  await writeFile(join(folder, 'scripts/node/package.json'), JSON.stringify({ optionalDependencies }))
  expect(run(folder, 'node', 'x')).toEqual({ status: 0, stdout: 'our Node: x\n', stderr: '' })
})

test('a folder that PATH cannot hold is refused, because another Node and other tools would run', async () => {
  const folder = await projectIn(`a${delimiter}b`)
  const why = `The path of ${folder} contains "${delimiter}", which separates folders in PATH: move the repository to a path without it.`
  expect(run(folder, 'node', '-p', '1')).toEqual({ status: 1, stdout: '', stderr: `${why}\n` })
})
