/**
 * Duty: runs one command on the repository's own Node, as if the user had typed it: same terminal, same signals, same exit code.
 *
 * The repository's Node is a package like any other (scripts/node/package.json), so that a machine needs only git, npm and
 * some Node >= 20. Plain JavaScript without dependencies, for Node 20 and later.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { binaries, installDependencies, rootName } from './dependencies.mjs'

/** The first Node that runs TypeScript without a warning. */
const nodeMin = [24, 12]
/** `npm` passes on the signals it gets, and a terminal sends them to all its processes: what comes twice at once is one. */
const sameSignalMs = 1_000

/** Runs the command and ends this process with its exit code. */
export async function runAndExit(command, args, cwd) {
  try {
    checkPath()
    await installDependencies()
    process.exit(await run(command, args, cwd, searchPath()))
  } catch (error) {
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/** Another Node would run, and no tool be found. */
function checkPath() {
  if (!rootName.includes(delimiter)) return
  throw new Error(
    `The path of ${rootName} holds "${delimiter}", which separates folders in PATH: move it to one without.`,
  )
}

function run(command, args, cwd, path) {
  return new Promise((resolve, reject) => {
    const shell = process.platform === 'win32' && command !== 'node'
    const child = spawn(command, args, { cwd, stdio: 'inherit', shell, env: { ...process.env, PATH: path } })
    forwardSignals(child)
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
}

function forwardSignals(child) {
  const sentAt = new Map()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // Ctrl-C in a terminal reaches the child by itself; sending it again would look like a second, impatient Ctrl-C.
      if (signal === 'SIGINT' && process.stdin.isTTY) return
      if (Date.now() - (sentAt.get(signal) ?? 0) < sameSignalMs) return
      sentAt.set(signal, Date.now())
      child.kill(signal)
    })
  }
}

/** PATH with the repository's tools first, and before them the Node that runs us where the installed one is too old. */
function searchPath() {
  const installed = join(binaries, process.platform === 'win32' ? 'node.cmd' : 'node')
  const folders = [binaries, process.env.PATH]
  const installedFits = existsSync(installed) && isRecent(versionOf(installed))
  if (!installedFits && isRecent(process.versions.node)) folders.unshift(dirname(process.execPath))
  else if (!existsSync(installed)) {
    throw new Error(
      `There is no Node ${nodeMin.join('.')} in node_modules for ${process.platform} ${process.arch} and this is Node ` +
        `${process.versions.node}: install Node ${nodeMin[0]} from https://nodejs.org and run the command again.`,
    )
  }
  return folders.join(delimiter)
}

/** Asking the binary costs a process start, so only platforms where npm has no recent Node ask. */
function versionOf(node) {
  if (process.platform !== 'darwin') return nodeMin.join('.')
  return spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.slice(1)
}

function isRecent(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1])
}
