/**
 * Duty: the texts of all files of lua/, by name.
 * LUA-FILES-1 In the build this module is replaced by one that holds the texts (scripts/bundle.ts), so that a program that bundles troupe into
 *             one file has them, too. The files are the one source of both. The build also knows the name of the library that they make.
 */
import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('../lua/', import.meta.url)

export const luaFiles: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .map((file) => [file.replaceAll('\\', '/'), readFileSync(new URL(file, folder), 'utf8')]),
)

/** Null: linking the library tells its name. */
export const libraryName: string | null = null
