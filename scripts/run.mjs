/**
 * Duty: run one command with the repository's own Node, as if the user had typed it: same terminal, same signals, same exit code.
 *
 * The repository's Node is a package like any other (scripts/node/package.json). A machine therefore needs only git, npm and some Node >= 20. This
 * file is plain JavaScript without dependencies, for Node 20 and later.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { binaries, installDependencies, root, rootName } from './dependencies.mjs'

/** The first Node that runs TypeScript without a warning. */
const nodeMin = [24, 12]
/** Two equal signals within this time count as one: `npm` passes on its signals, and a terminal sends them to all processes. */
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

/** Refuses a path that PATH cannot hold: another Node would run, and no tool would be found. */
function checkPath() {
  if (!rootName.includes(delimiter)) return
  throw new Error(
    `The path of ${rootName} contains "${delimiter}", which separates folders in PATH: move the repository to a path without it.`,
  )
}

function run(command, args, cwd, path) {
  return new Promise((resolve, reject) => {
    const shell = process.platform === 'win32' && command !== 'node'
    const child = spawn(command, args, { cwd, stdio: 'inherit', shell, env: { ...process.env, PATH: path } })
    forwardSignals(child)
    child.once('error', ({ message }) => {
      // If the folder does not exist, Node reports the program as missing.
      reject(new Error(existsSync(cwd) ? message : `The folder ${cwd} does not exist: change to another folder.`))
    })
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
}

function forwardSignals(child) {
  const sentAt = new Map()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // Ctrl-C in a terminal also reaches the child directly. Sent again, it would count as a second Ctrl-C.
      if (signal === 'SIGINT' && process.stdin.isTTY) return
      if (Date.now() - (sentAt.get(signal) ?? 0) < sameSignalMs) return
      sentAt.set(signal, Date.now())
      child.kill(signal)
    })
  }
}

/** PATH with the repository's Node and then its tools in front. If that Node is too old, the Node that runs this file is used. */
function searchPath() {
  const installed = installedNode()
  const folders = [binaries, process.env.PATH]
  if (installed && isRecent(versionOf(installed))) folders.unshift(dirname(installed))
  else if (isRecent(process.versions.node)) folders.unshift(dirname(process.execPath))
  else if (installed) folders.unshift(dirname(installed))
  else {
    throw new Error(
      `There is no Node ${nodeMin.join('.')} in node_modules for ${process.platform} ${process.arch} and this is Node ` +
        `${process.versions.node}: install Node ${nodeMin[0]} from https://nodejs.org and run the command again.`,
    )
  }
  return folders.join(delimiter)
}

/**
 * The program of the package that holds Node for this platform. Only that package is installed. npm up to version 10 removes its link from the folder
 * of tools, together with the links of packages for other platforms, which have the same name.
 */
function installedNode() {
  const { optionalDependencies } = readJson(join(root, 'scripts', 'node', 'package.json'))
  for (const name of Object.keys(optionalDependencies ?? {})) {
    const folder = join(root, 'node_modules', name)
    const { bin } = readJson(join(folder, 'package.json'))
    if (bin?.node && existsSync(join(folder, bin.node))) return join(folder, bin.node)
  }
  return undefined
}

function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

/** The version of a Node. Asking it costs a process start, so it is only asked on platforms for which npm has no recent Node. */
function versionOf(node) {
  if (process.platform !== 'darwin') return nodeMin.join('.')
  return spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.slice(1)
}

function isRecent(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1])
}
