import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Folder of the package, with a trailing `/`. */
export const PACKAGE = fileURLToPath(new URL('../../../packages/policy-core/', import.meta.url))

/** Conditions of an entry, or the path of an entry without conditions. */
type Exports = Readonly<Record<string, string | Readonly<Record<string, string>>>>

interface Manifest {
  readonly version: string
  readonly license: string
  readonly sideEffects: boolean
  readonly type: string
  readonly engines: Readonly<Record<string, string>>
  readonly exports: Exports
}

export function readManifest(): Manifest {
  return JSON.parse(readFileSync(`${PACKAGE}package.json`, 'utf8')) as Manifest
}
