import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nameFiles } from '../../../packages/cli/src/policy-source/name-files.ts'

const free = () => false
const nameOf = (name: string) => nameFiles([name], free).get(name)

describe('the file of a policy', () => {
  it.each([
    ['package registry', 'package-registry'],
    ['Web (EU)', 'web-eu'],
    ['Größe', 'größe'],
    ['社内', '社内'],
    ['../../etc/passwd', 'etc-passwd'],
    ['.hidden', 'hidden'],
    ['a\\b:c|d', 'a-b-c-d'],
  ])('for %j is named %j', (name, file) => {
    expect(nameOf(name)).toBe(file)
  })

  it.each(['..', '/', '***', 'CON', 'nul', 'Com1'])('for %j is named after a hash', (name) => {
    expect(nameOf(name)).toMatch(/^policy-[0-9a-f]{8}$/)
  })

  it('differs for a taken name, and for names that a file system may treat as equal', () => {
    const names = ['a b', 'A-B', 'other']

    const files = nameFiles(names, (file) => file === 'other')

    expect(files.get('a b')).toMatch(/^a-b-[0-9a-f]{8}$/)
    expect(files.get('A-B')).toMatch(/^a-b-[0-9a-f]{8}$/)
    expect(files.get('other')).toMatch(/^other-[0-9a-f]{8}$/)
    expect(new Set(files.values()).size).toBe(3)
    expect(nameFiles(names.toReversed(), (file) => file === 'other')).toEqual(
      new Map([...files].toReversed()),
    )
  })

  it('stays in the directory, is short, and is unique, for any policy names', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1, maxLength: 80 })),
        (names) => {
          const files = [...nameFiles(names, free).values()]

          expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(names.length)
          for (const file of files) {
            expect(file).toMatch(/^[\p{L}\p{N}\p{M}]+(?:-[\p{L}\p{N}\p{M}]+)*$/u)
            expect(Buffer.byteLength(file)).toBeLessThan(240)
          }
        },
      ),
    )
  })
})
