import { createHash } from 'node:crypto'
import type { Vectors } from './vectors.ts'

/**
 * The compatibility promise of one version: the first vectors of each subject, and their digest.
 */
export interface Release {
  readonly version: string
  readonly subjects: Readonly<Record<string, Subject>>
}

interface Subject {
  /** Number of vectors at the release. Later vectors follow them. */
  readonly vectors: number
  /**
   * SHA-256 in hexadecimal of the vectors as JSON, with sorted members and without descriptions.
   */
  readonly sha256: string
}

/** Adds a release for the version of the vectors. Existing releases never change. */
export function withRelease(releases: readonly Release[], vectors: Vectors): readonly Release[] {
  if (releases.some(({ version }) => version === vectors.version)) return releases
  return [...releases, { version: vectors.version, subjects: subjectsOf(vectors) }]
}

/**
 * Returns the promises that the vectors break. A version may break those of an earlier release only
 * with another major version, or with another minor version while the major version is 0 (Semantic
 * Versioning 2.0.0 §4).
 */
export function brokenPromises(releases: readonly Release[], vectors: Vectors): string[] {
  const line = compatibleLine(vectors.version)
  return releases
    .filter(({ version }) => compatibleLine(version) === line)
    .flatMap(({ version, subjects }) => {
      const now = subjectsOf(vectors, subjects)
      return Object.keys(subjects)
        .filter((name) => now[name]?.sha256 !== subjects[name]?.sha256)
        .map(
          (name) =>
            `vectors \`${name}\` of ${version} were changed, removed or moved; ` +
            `append new ones, or leave ${line}`,
        )
    })
}

/** The part of a version that changes with a breaking change: `2` of 2.3.4, `0.2` of 0.2.3. */
function compatibleLine(version: string): string {
  const [major = '', minor = ''] = version.split('.')
  return major === '0' ? `0.${minor}` : major
}

/** Digests of the vectors of each subject, limited to the number at a given release. */
function subjectsOf(
  { decisions, rejected }: Vectors,
  until?: Release['subjects'],
): Release['subjects'] {
  const bySubject = Map.groupBy([...decisions, ...rejected], ({ id }) => id.split('/')[0] ?? '')
  return Object.fromEntries(
    [...bySubject].map(([name, all]) => {
      const vectors = all.slice(0, until?.[name]?.vectors)
      return [name, { vectors: vectors.length, sha256: digestOf(vectors) }]
    }),
  )
}

function digestOf(vectors: readonly object[]): string {
  const meanings = vectors.map((vector) => ({ ...vector, description: undefined }))
  return createHash('sha256').update(JSON.stringify(meanings, withSortedMembers)).digest('hex')
}

function withSortedMembers(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
