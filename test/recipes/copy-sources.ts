import { cpSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
/** The sources, and all that compiling, testing, formatting and linting them reads. */
const SOURCES = [
  '.oxlintrc.json',
  '.prettierrc.json',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
  'packages',
  'server',
  'agent',
  'bench',
  'examples',
  'test',
]
/** Dependencies that a part of the tests has for itself. */
const OWN_DEPENDENCIES = ['test/browser/node_modules', 'test/openapi/node_modules']
/** Made from the sources, or with dependencies of their own. */
const LEFT_OUT = new Set(['dist', 'test/recipes', 'bench/results', ...OWN_DEPENDENCIES])

/**
 * Copies the sources of the project to a new directory. The packages of the copy find each other by
 * the links in their own `node_modules`, and other dependencies where the project has them. A cache
 * stays with the project: the copy must not write into it.
 */
export function copySources(copy: string): void {
  mkdirSync(copy)
  for (const name of SOURCES)
    cpSync(join(ROOT, name), join(copy, name), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !LEFT_OUT.has(basename(path)) && !LEFT_OUT.has(relative(ROOT, path)),
    })
  mkdirSync(join(copy, 'node_modules'))
  const shared = readdirSync(join(ROOT, 'node_modules')).filter((name) => name !== '.cache')
  for (const path of [...shared.map((name) => `node_modules/${name}`), ...OWN_DEPENDENCIES])
    symlinkSync(join(ROOT, path), join(copy, path))
  requireOwnPackages(copy)
}

/** A link that leads back to the project would compile and test a part without the recipe. */
function requireOwnPackages(copy: string): void {
  const users = ['packages/policy-analysis', 'packages/protocol', 'packages/cli']
  for (const user of [...users, 'server', 'agent', 'test']) {
    const link = join(copy, user, 'node_modules/@palisade/policy-core')
    if (realpathSync(link) !== join(realpathSync(copy), 'packages/policy-core'))
      throw new Error(`${user} of the copy has no policy-core of its own`)
  }
}
