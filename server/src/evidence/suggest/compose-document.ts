import { domainOf } from '@palisade/policy-core'
import { nameSchema, teamIdSchema, type SuggestionsResponse } from '@palisade/protocol'
import type { Unit } from './build-units.ts'
import { groupBy } from './generalize.ts'
import { ownerOfName } from './registrable-domain.ts'
import { countDevices } from './summarize-evidence.ts'

/** An organization has 100 policies by default, and others are there already. */
const MOST_POLICIES = 40
/** Of one policy, below the limits of the server. */
const MOST_RULES = 200
const MOST_RESOURCES_OF_RULE = 50
const MOST_CHARACTERS = 200_000
/** Of the document: an editor reads all of them. */
const MOST_UNITS = 1_000
const LONGEST_NAME = 200

type SuggestedDocument = SuggestionsResponse['document']
type DocumentPolicy = SuggestedDocument['policies'][number]
type DocumentRule = DocumentPolicy['rules'][number]

/** A unit with its place in the document. */
export interface PlacedUnit {
  readonly unit: Unit
  readonly policy: string
  readonly rule: string
}

export interface ComposedDocument {
  readonly document: SuggestedDocument
  readonly placed: readonly PlacedUnit[]
  /** Beyond the limits; those with the fewest devices. */
  readonly dropped: readonly Unit[]
}

/**
 * Writes the units as new policies. A policy of a document replaces the one of the same name with
 * all its rules, so each name is one that the organization does not have.
 */
export function composeDocument(
  units: readonly Unit[],
  existing: readonly { readonly name: string }[],
): ComposedDocument {
  const names = createNames(existing.map(({ name }) => name))
  const byDevices = units
    .map((unit) => ({ unit, devices: countDevices(unit.seen) }))
    .toSorted((a, b) => b.devices - a.devices || (a.unit.resource < b.unit.resource ? -1 : 1))
    .map(({ unit }) => unit)
  const kept = byDevices.slice(0, MOST_UNITS)
  const groups = [...groupBy(kept, policyKey).values()]
  const parts = groups
    .slice(0, MOST_POLICIES)
    .map((group) => composePolicy(group, names.take(describePolicy(group[0]))))
  return {
    document: { policies: parts.map(({ policy }) => policy) },
    placed: parts.flatMap(({ placed }) => placed),
    dropped: [
      ...byDevices.slice(MOST_UNITS),
      ...groups.slice(MOST_POLICIES).flat(),
      ...parts.flatMap(({ dropped }) => dropped),
    ],
  }
}

/** A policy has rules of one domain. */
function policyKey({ audience, program, action }: Unit): string {
  return JSON.stringify([audience.team?.id ?? null, program, domainOf(action)])
}

function describePolicy(unit: Unit | undefined): string {
  if (unit === undefined) return ''
  const { audience, program, action } = unit
  const audienceName = audience.team?.name ?? 'everybody'
  const ofProgram = program === null ? '' : `, ${program.split('/').at(-1) ?? ''}`
  const kind = domainOf(action) === 'filesystem' ? ' (files)' : ''
  return `suggested for ${audienceName}${ofProgram}${kind}`
}

function composePolicy(
  units: readonly Unit[],
  name: string,
): {
  readonly policy: DocumentPolicy
  readonly placed: readonly PlacedUnit[]
  readonly dropped: readonly Unit[]
} {
  const names = createNames([])
  const rules: DocumentRule[] = []
  const placed: PlacedUnit[] = []
  const dropped: Unit[] = []
  let characters = 0
  for (const [title, group] of groupBy(units, describeRule))
    for (let first = 0; first < group.length; first += MOST_RESOURCES_OF_RULE) {
      const some = group.slice(first, first + MOST_RESOURCES_OF_RULE)
      const [{ action }] = some as [Unit, ...Unit[]]
      const resources = some.map(({ resource }) => resource)
      const length = resources.join().length
      if (rules.length === MOST_RULES || characters + length > MOST_CHARACTERS) {
        dropped.push(...some)
        continue
      }
      characters += length
      const rule = names.take(title)
      rules.push({ name: rule, actions: [action], decision: 'allow', resources })
      placed.push(...some.map((unit) => ({ unit, policy: name, rule })))
    }
  const team = units[0]?.audience.team ?? null
  const scope = team === null ? {} : { teams: [writeTeam(team)] }
  return { policy: { name, scope, rules }, placed, dropped }
}

/** The name; a name in the form of a UUID would be read as an id. */
export function writeTeam({ id, name }: { readonly id: string; readonly name: string }): string {
  return teamIdSchema.safeParse(name).success ? id : name
}

/** One rule for the names of a domain on a port, or the files of a directory. */
function describeRule({ action, candidates: [candidate] }: Unit): string {
  const { host = null, port = null, path = null } = candidate?.target ?? {}
  if (path !== null) return `${action} ${path.slice(0, path.lastIndexOf('/'))}`
  return `${action} ${ownerOfName(host ?? '').domain ?? host ?? ''}:${port}`
}

/** Makes names that differ from each other and from those taken. */
function createNames(taken: readonly string[]): { take(wanted: string): string } {
  const used = new Set(taken)
  return {
    take(wanted) {
      // Paths of programs are from machines: no control or invisible character goes on.
      const clean = wanted.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()
      const short = [...clean].slice(0, LONGEST_NAME).join('')
      const base = nameSchema.safeParse(short).data ?? 'suggested'
      for (let count = 1; ; count += 1) {
        const name = count === 1 ? base : `${base} ${count}`
        if (used.has(name)) continue
        used.add(name)
        return name
      }
    },
  }
}
