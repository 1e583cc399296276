import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { removeDirectory } from '../remove-directory.ts'
import { areRepeated, noteFailedFiles, readFailedFiles } from './failed-files.ts'

const inProject = (project: string) => ({ project, path: `test/${project}.test.ts` })

it('the files that failed are read back', () => {
  const directory = mkdtempSync(join(tmpdir(), 'palisade-failed-'))
  onTestFinished(() => removeDirectory(directory))
  const files = [inProject('process'), inProject('laws')]

  expect(readFailedFiles(directory)).toEqual([])
  noteFailedFiles(directory, files)
  expect(readFailedFiles(directory)).toEqual(files)
})

it.each([
  ['one that starts processes', ['process'], true],
  ['three, with PostgreSQL', ['process', 'PostgreSQL', 'process'], true],
  ['none', [], false],
  ['four', ['process', 'process', 'process', 'process'], false],
  ['a law', ['laws'], false],
  ['a test without processes', ['fast'], false],
  ['a law beside one that starts processes', ['process', 'laws'], false],
])('%s: repeated %s %s', (_, projects, expected) => {
  expect(areRepeated(projects.map((project) => inProject(project)))).toBe(expected)
})
