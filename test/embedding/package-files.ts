import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * The packages that programs outside of this repository install, by folder of `packages`. Each
 * stands on those before it.
 */
export const PUBLISHED = ['policy-core', 'policy-analysis'] as const
export type PublishedPackage = (typeof PUBLISHED)[number]

/** Conditions of an entry, or the path of an entry without conditions. */
type Exports = Readonly<Record<string, string | Readonly<Record<string, string>>>>

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly sideEffects: boolean
  readonly type: string
  readonly engines: Readonly<Record<string, string>>
  readonly exports: Exports
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Returns the folder of a package, with a trailing `/`. */
export function packageFolder(name: PublishedPackage): string {
  return fileURLToPath(new URL(`../../packages/${name}/`, import.meta.url))
}

/** Returns the packages that a program has to install for a package, the package last. */
export function withPeers(name: PublishedPackage): PublishedPackage[] {
  const { peerDependencies = {} } = readManifest(name)
  return PUBLISHED.filter((each) => each === name || `@palisade/${each}` in peerDependencies)
}

export function readManifest(name: PublishedPackage): Manifest {
  return JSON.parse(readFileSync(`${packageFolder(name)}package.json`, 'utf8')) as Manifest
}
