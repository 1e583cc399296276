import {
  composeYaml,
  parseJson,
  type ExportResponse,
  type ShownPolicy,
  type SourcePolicy,
} from '@palisade/protocol'
import { readTextFile, unreadable } from '../runtime/file-argument.ts'
import type { Io } from '../runtime/io.ts'
import type { SourceFile } from './list-source-files.ts'
import { MAX_FILE_BYTES } from './load-sources.ts'
import { formatDocument, renderJson, toPlain } from './render-policies.ts'
import { updateDocument } from './update-document.ts'

type IsSameTeam = (a: string, b: string) => boolean

/** Compares two entries of a scope, each a team's name, or its id in upper or lower case. */
export function createSameTeam({ teams }: Pick<ExportResponse, 'teams'>): IsSameTeam {
  const ids = new Map(teams.map(({ id, name }) => [name, id] as const))
  const idOf = (team: string): string => ids.get(team) ?? team.toLowerCase()
  return (a, b) => a === b || idOf(a) === idOf(b)
}

/**
 * Returns the text of a file updated to these policies. YAML keeps comments, order and wording,
 * JSON keeps `$schema`. The file must have passed `loadSources`. Throws exit 2.
 */
export async function updateFile(
  io: Pick<Io, 'cwd'>,
  { path, shown, format }: SourceFile,
  policies: readonly ShownPolicy[],
  isSameTeam: IsSameTeam,
): Promise<string> {
  const text = await readTextFile(io, path, MAX_FILE_BYTES)
  if (format === 'json') return renderJson(policies, schemaOf(text))
  const [document, ...others] = composeYaml(text)
  if (document === undefined || others.length > 0)
    throw unreadable(shown, 'holds several documents; export to a file of one')
  updateDocument(document, policies, isSameTeam)
  return formatDocument(document)
}

/** Whether the policies read equal the wanted ones, in the same order. */
export function isUpToDate(
  written: readonly SourcePolicy[],
  wanted: readonly ShownPolicy[],
  isSameTeam: IsSameTeam,
): boolean {
  return (
    written.length === wanted.length &&
    written.every(({ name, scope = {}, mode = 'enforce', rules }, index) => {
      const other = wanted[index]
      if (other === undefined) return false
      const [teams, others] = [scope.teams ?? [], other.scope.teams ?? []]
      return (
        teams.length === others.length &&
        teams.every((team, at) => isSameTeam(team, others[at] ?? '')) &&
        textOf({ name, scope: {}, mode, rules }) ===
          textOf({ mode: 'enforce', ...other, scope: {} })
      )
    })
  )
}

function textOf(policy: ShownPolicy): string {
  return JSON.stringify(toPlain(policy))
}

function schemaOf(text: string): string | undefined {
  const json = parseJson(text)
  const value: unknown = json.ok ? json.value : null
  if (typeof value !== 'object' || value === null || !('$schema' in value)) return undefined
  return typeof value.$schema === 'string' ? value.$schema : undefined
}
