import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { brokenLinks } from './broken-links.ts'
import { createProject, type Project } from './installed-package.ts'
import {
  packageFolder,
  PUBLISHED,
  readManifest,
  withPeers,
  type PublishedPackage,
} from './package-files.ts'

interface Expected {
  /** Files beside the sources, their output and the documents of every package. */
  readonly ownFiles: readonly string[]
  readonly leastExamples: number
}

const EXPECTED: Readonly<Record<PublishedPackage, Expected>> = {
  'policy-core': {
    ownFiles: ['vectors/README.md', 'vectors/decisions.json', 'vectors/releases.json'],
    leastExamples: 5,
  },
  'policy-analysis': { ownFiles: [], leastExamples: 2 },
}

describe.each(PUBLISHED)('%s', (name) => {
  const { ownFiles, leastExamples } = EXPECTED[name]
  const folder = packageFolder(name)
  const examples = readdirSync(`${folder}examples`)
  const readme = readFileSync(`${folder}README.md`, 'utf8')
  const manifest = readManifest(name)

  let project: Project
  beforeAll(async () => {
    project = await createProject(name)
  })
  afterAll(() => project.remove())

  describe('the published package', () => {
    it('contains the compiled output of every source', () => {
      const sources = readdirSync(`${folder}src`, { recursive: true, encoding: 'utf8' })
      const compiled = sources
        .filter((path) => path.endsWith('.ts'))
        .map((path) => `dist/${path.slice(0, -'.ts'.length)}`)
        .flatMap((path) => [`${path}.js`, `${path}.js.map`, `${path}.d.ts`])

      expect(compiled.filter((path) => !project.published.includes(path))).toEqual([])
    })

    it('contains the sources and documents as well, and no other file', () => {
      const others = project.published.filter(
        (path) => !/^dist\/.*\.(?:js|js\.map|d\.ts)$|^src\/.*\.ts$/.test(path),
      )

      expect(new Set(others)).toEqual(
        new Set(['LICENSE', 'README.md', 'docs/api.md', 'package.json', ...ownFiles]),
      )
    })

    it('has source maps with embedded sources', () => {
      const map = JSON.parse(readFileSync(`${folder}dist/index.js.map`, 'utf8')) as object

      expect(map).toHaveProperty('sourcesContent')
    })

    it('exports only published files', () => {
      const targets = Object.values(manifest.exports)
        .flatMap((entry) => (typeof entry === 'string' ? [entry] : Object.values(entry)))
        .map((target) => target.replace(/^\.\//, ''))

      const missing = targets.filter((target) => !project.published.some(isMatchOf(target)))

      expect(targets).not.toEqual([])
      expect(missing).toEqual([])
    })

    it('can be published without changes', () => {
      expect(manifest).not.toHaveProperty('private')
      expect(manifest).not.toHaveProperty('publishConfig')
    })

    it('exports its sources only under its own condition', () => {
      const entries = Object.values(manifest.exports).filter((entry) => typeof entry !== 'string')

      for (const entry of entries)
        expect(Object.keys(entry)).toEqual(['palisade-source', 'types', 'default'])
      expect(entries[0]?.['palisade-source']).toBe('./src/index.ts')
    })

    it('has no dependencies and supports tree shaking', () => {
      expect(manifest).toMatchObject({ type: 'module', sideEffects: false, dependencies: {} })
    })

    it('stands on the very version of its peers', () => {
      const peers = withPeers(name).filter((peer) => peer !== name)
      const versions = peers.map((peer) => [`@palisade/${peer}`, readManifest(peer).version])

      expect(manifest.peerDependencies ?? {}).toEqual(Object.fromEntries(versions))
    })

    it('has the licence of the repository', () => {
      const own = readFileSync(`${folder}LICENSE`, 'utf8')

      expect(own).toBe(readFileSync(`${folder}../../LICENSE`, 'utf8'))
      expect(manifest.license).toBe('Apache-2.0')
    })
  })

  describe('a program that installed the package', () => {
    it.each([
      ['Node', { module: 'nodenext' }],
      ['a bundler', { module: 'esnext', moduleResolution: 'bundler' }],
      ['the strictest settings', { module: 'nodenext', exactOptionalPropertyTypes: true }],
    ])('finds the types: %s', async (_for, options) => {
      expect(await project.checkTypes(options)).toBe('')
    })

    it.each(examples)('prints the output shown in the README: %s', async (example) => {
      const code = readFileSync(`${folder}examples/${example}`, 'utf8')

      const output = await project.runExample(example)

      expect(readme).toContain(
        `\`\`\`ts\n// examples/${example}\n${code}\`\`\`\n\n\`\`\`text\n${output}\`\`\`\n`,
      )
    })
  })

  describe('the documents', () => {
    it('show every example and no other code', () => {
      const shown = [...readme.matchAll(/^```ts\n\/\/ examples\/(.*)$/gm)].map(([, name]) => name)

      expect(new Set(shown)).toEqual(new Set(examples))
      expect(examples.length).toBeGreaterThanOrEqual(leastExamples)
      expect(readme.match(/^```ts$/gm)).toHaveLength(examples.length)
    })

    it('link only to published files', () => {
      const pages = project.published.filter((path) => path.endsWith('.md'))

      expect(brokenLinks(pages, (path) => readFileSync(folder + path, 'utf8'))).toEqual([])
    })
  })
})

it('explains patterns with the table of the repository README', () => {
  const folder = packageFolder('policy-core')
  const [table] =
    /^\| Pattern [^]*?\n\n/m.exec(readFileSync(`${folder}../../README.md`, 'utf8')) ?? []

  expect(table).toContain('**.example.com')
  expect(readFileSync(`${folder}README.md`, 'utf8')).toContain(table)
})

it('finds links to missing pages and headings', () => {
  expect(brokenLinks(['a.md'], () => '# A\n[b](b.md) [c](#c) [a](#a) [a](a.md#a)')).toEqual([
    'a.md: b.md',
    'a.md: #c',
  ])
})

/** Returns a test for the paths of an `exports` target, where `*` is any text. */
function isMatchOf(target: string): (path: string) => boolean {
  const [start = '', end] = target.split('*')
  return (path) =>
    end === undefined ? path === start : path.startsWith(start) && path.endsWith(end)
}
