import { expect, test } from 'vitest'
import { binary, languageOf, otherText } from '../../../workers/_survey/measure/languages.ts'
import { fromText } from '../../../workers/_survey/tree/path.ts'

test.each([
  ['main.ts', '', 'TypeScript'],
  ['MAIN.PY', '', 'Python'],
  ['a.b.rs', '', 'Rust'],
  ['Makefile', '', 'Make'],
  ['CMakeLists.txt', '', 'CMake'],
  ['notes.txt', 'a', otherText],
  ['.bashrc', '', 'Shell'],
  ['.ts', '', otherText],
  ['script', '#!/usr/bin/env -S python3.12 -u\n', 'Python'],
  ['script', '#!/bin/sh', 'Shell'],
  ['script', '#! /usr/bin/perl -w\n', 'Perl'],
  ['script', '#!/opt/unknown\n', otherText],
  ['script', '#!', otherText],
  ['script', '#!/bin/constructor\n', otherText],
  ['script', '#!/usr/bin/env __proto__\n', otherText],
  ['ls.1', '.TH LS 1\n', 'Roff'],
  ['ls.1', '\'\\" t\n.TH LS 1\n', 'Roff'],
  ['log.1', 'started\n', otherText],
  ['script', '#!/usr/bin/env LANG=C python3\n', 'Python'],
  ['video.ts', 'G\0\0', binary],
  ['constructor', 'a', otherText],
  ['x.constructor', 'a', otherText],
])('a file %s that begins with %j is %s', (name, head, language) => {
  expect(languageOf(fromText(name), Buffer.from(head))).toBe(language)
})

test('a zero byte far from the beginning does not make a file binary', () => {
  expect(languageOf(fromText('a.c'), Buffer.from(`${'x'.repeat(9_000)}\0`))).toBe('C')
})
