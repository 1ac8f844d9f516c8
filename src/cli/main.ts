#!/usr/bin/env node
/**
 * The command line of troupe. It ends the process itself, since a worker file of the user may have left a timer or a connection
 * open; and what such a file prints goes to stderr, since stdout is data.
 */
import { Console } from 'node:console'
import { syncBuiltinESMExports } from 'node:module'
import { exitCodes } from './exit-code.ts'
import { asksForJson, runCommandLine } from './program.ts'
import { flush, surviveClosedPipes } from './terminal/output.ts'
import { endProcess, watchForSuddenEnd } from './terminal/sudden-end.ts'

surviveClosedPipes()
// Into the object that is there, since a worker file may import it, or a function of it, from `node:console`.
Object.assign(globalThis.console, new Console(process.stderr))
syncBuiltinESMExports()
const args = process.argv.slice(2)
watchForSuddenEnd(asksForJson(args))
const exitCode = await runCommandLine(args)
const isWritten = await flush()
endProcess(isWritten ? exitCode : exitCode || exitCodes.failed)
