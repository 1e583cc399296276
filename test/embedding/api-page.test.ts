import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeApiPage, readPackage } from './api-page.ts'
import { readDeclarations, type ApiDeclaration } from './declarations.ts'
import { packageFolder, PUBLISHED, withPeers } from './package-files.ts'
import { removeDirectory } from '../remove-directory.ts'

/** Types that are built into TypeScript. */
const BUILT_IN = new Set([
  'Readonly',
  'Record',
  'Pick',
  'Omit',
  'Extract',
  'Exclude',
  'Error',
  'Generator',
  'Iterable',
  'ReadonlyMap',
  'ReadonlySet',
])

describe.each(PUBLISHED)('the page of %s', (published) => {
  it('matches the current docstrings', async () => {
    await expect(await makeApiPage(published)).toMatchFileSnapshot(
      `${packageFolder(published)}docs/api.md`,
    )
  })

  it('documents every export', () => {
    const silent = readPackage(published).filter(({ doc }) => doc === '')

    expect(silent.map(({ name }) => name)).toEqual([])
  })

  it('mentions only types that a program can import', () => {
    const declarations = readPackage(published)
    const names = new Set(
      withPeers(published)
        .flatMap(readPackage)
        .map(({ name }) => name),
    )

    const strangers = declarations.flatMap(({ name, mentions }) =>
      mentions
        .filter((mention) => !names.has(mention) && !BUILT_IN.has(mention))
        .map((mention) => `${name} mentions ${mention}`),
    )

    expect(strangers).toEqual([])
  })
})

describe('a declaration', () => {
  it('is shown without bodies, constructors and members of opaque types', () => {
    const shown = declarationsOf(`
      /** Opens a gate. */
      export function open<T extends Key>(key: T = no()): Gate | T {
        return go<Hidden>(key)
      }
      /**
       * A gate.
       *
       * - \`a\`: one
       */
      export class Gate extends Error {
        /** Its code. */
        readonly code: 'A' = 'A'
        constructor(hidden: Hidden) {
          super(String(hidden))
        }
      }
      export interface Key {
        readonly id: string
      }
      /**
       * A lock.
       *
       * @opaque
       */
      export interface Lock {
        /** How it turns. */
        readonly turn: Hidden
      }
    `)

    expect(shown).toMatchObject([
      {
        name: 'open',
        kind: 'function',
        doc: 'Opens a gate.',
        signature: 'function open<T extends Key>(key: T = no()): Gate | T',
        mentions: ['Key', 'Gate'],
      },
      { name: 'Gate', kind: 'class', doc: 'A gate.\n\n- `a`: one', mentions: [] },
      { name: 'Key', kind: 'type', doc: '', mentions: [] },
      { name: 'Lock', kind: 'type', doc: 'A lock.', mentions: [] },
    ])
    expect(shown[1]?.signature).toMatch(/^class Gate extends Error \{[^]*Its code[^]*'A'\s*\}$/)
    expect(shown[3]?.signature).toMatch(/^interface Lock \{\s*\}$/)
  })

  it('is rejected when the page cannot show it', () => {
    expect(() => declarationsOf('export enum Gate {}')).toThrow('cannot show a TSEnumDeclaration')
    expect(() => declarationsOf('export type Gate = a.b')).toThrow('more than one identifier')
    expect(() => declarationsOf('export type = 1 // export type Gate')).toThrow('declarations.ts')
  })
})

describe('the page', () => {
  it('links correctly to names that differ only in letter case', async () => {
    const page = await makeApiPage(
      'policy-core',
      declarationsOf('export function gate(): Gate {}\nexport type Gate = string'),
    )

    expect(page).toContain('- Functions: [`gate`](#gate)')
    expect(page).toContain('- Types: [`Gate`](#gate-1)')
    expect(page).toContain('See [`Gate`](#gate-1).')
  })
})

/** Reads the declarations of a package with one file beside its index. */
function declarationsOf(text: string): ApiDeclaration[] {
  const folder = mkdtempSync(join(tmpdir(), 'palisade-declarations-'))
  const names = [...text.matchAll(/export \w+ (\w+)/g)].map(([, name]) => name)
  try {
    writeFileSync(join(folder, 'declarations.ts'), text)
    writeFileSync(join(folder, 'index.ts'), `export { ${names.join()} } from './declarations.ts'`)
    return readDeclarations(pathToFileURL(join(folder, 'index.ts')))
  } finally {
    removeDirectory(folder)
  }
}
