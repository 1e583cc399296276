import {
  SUGGESTION_GROUPS,
  SUGGESTION_SCOPES,
  SUGGESTION_SOURCES,
  type SuggestionsRequest,
  type SuggestionsResponse,
} from '@palisade/protocol'
import { Option, type Command } from 'commander'
import { lstat } from 'node:fs/promises'
import { connectOrganization } from '../account/connect-server.ts'
import { parseInstant } from '../options/parse-instant.ts'
import { usageError } from '../runtime/cli-error.ts'
import { resolveFile, unreadable } from '../runtime/file-argument.ts'
import { createFile } from '../runtime/replace-file.ts'
import type { RunContext } from '../runtime/run-context.ts'
import { write } from '../runtime/write.ts'
import { jsonLine } from '../terminal/printable.ts'
import { formatSuggestions } from './format-suggestions.ts'
import { renderSuggestions } from './render-suggestions.ts'

interface SuggestOptions {
  readonly from: NonNullable<SuggestionsRequest['from']>
  readonly since: string
  readonly until?: string
  readonly by: NonNullable<SuggestionsRequest['by']>
  readonly scope: NonNullable<SuggestionsRequest['scope']>
  readonly generalize?: true
  readonly minDevices?: string
  readonly minMembers?: string
  readonly minCount?: string
  readonly minNames?: string
  readonly out?: string
  readonly json?: true
}

/** `palisade suggest` */
export function addSuggestCommand(program: Command, context: RunContext): void {
  program
    .command('suggest')
    .summary('suggest the narrowest rules for recorded requests')
    .description(
      'Suggest policies for requests that machines have recorded and that no rule matches, as ' +
        'a file for `palisade plan` and `apply`, with the evidence in its comments. It changes ' +
        'nothing.',
    )
    .addOption(
      new Option('--from <source>', 'requests that were denied, or allowed while observing only')
        .choices(SUGGESTION_SOURCES)
        .default('denials'),
    )
    .option('--since <when>', 'start of the period: an age such as 7d, or RFC 3339', '30d')
    .option('--until <when>', 'end of the period')
    .addOption(
      new Option('--by <group>', 'a policy for each team, each program of a team, or each user')
        .choices(SUGGESTION_GROUPS)
        .default('team'),
    )
    .addOption(
      new Option('--scope <scope>', 'policies for teams, or for everybody')
        .choices(SUGGESTION_SCOPES)
        .default('team'),
    )
    .option('--generalize', 'offer wildcards for many names of a domain, or files of a directory')
    .option('--min-devices <number>', 'devices with the request (default: 2; 1 by user)')
    .option('--min-members <number>', 'members of a team with the request, or all (default: 3)')
    .option('--min-count <number>', 'recorded decisions (default: 1)')
    .option('--min-names <number>', 'names, or files, that a wildcard replaces (default: 4)')
    .option('--out <file>', 'write a new YAML file, and print a summary')
    .option('--json', 'print the answer of the server, with document and evidence, as JSON')
    .addHelpText('after', NOTES)
    .action((options: SuggestOptions) => suggest(context, options))
}

const NOTES = `
Policies apply to teams. A team gets a rule when at least --min-members of its members made the
request, or all of them; a request of a single user without such a team is listed as not covered,
and opens nothing for everybody. --by user suggests only for teams of one member.
A program is a group for reading: a rule of the policy holds for every program.

Requests that a deny or a protected address closes are never suggested, nor is a public suffix
(github.io), a range of addresses, a home directory, or a place of credentials.

Records come from machines, and a machine can lie. Look at the number of devices first, and twice at
the resources that the file marks. Then see \`palisade plan FILE\`.

You need \`policies:read\`, and \`audit:read\` or \`policies:write\`. Without \`audit:read\` the
evidence names no people, devices and programs. Asking is itself in the history.

Examples:
  palisade suggest --out suggested.yaml && palisade plan suggested.yaml
  palisade suggest --from observed --since 14d --by program
  palisade suggest --generalize --min-devices 5
  palisade suggest --scope organization --min-count 100
  palisade suggest --json | jq '.suggestions[] | select(.marks | length > 0)'`

async function suggest(context: RunContext, options: SuggestOptions): Promise<void> {
  const { io, style } = context
  const { out, json } = options
  if (out !== undefined && json === true)
    throw usageError('`--out` writes YAML; use `--json` without it')
  const request = readRequest(options, io.now())
  if (out !== undefined) await requireNew(resolveFile(io, out), out)
  const { organization } = await connectOrganization(io)
  const answer: SuggestionsResponse = await organization.suggest(request)
  if (json === true) {
    await write(io.stdout, jsonLine(answer))
    return
  }
  const text = renderSuggestions(answer)
  if (out === undefined) {
    await write(io.stdout, text)
    return
  }
  await createFile(resolveFile(io, out), out, text)
  await write(io.stdout, formatSuggestions(answer, out, style))
}

function readRequest(options: SuggestOptions, nowMs: number): SuggestionsRequest {
  const { from, since, until, by, scope, generalize } = options
  const least = {
    min_devices: readCount(options.minDevices, '--min-devices'),
    min_members: readCount(options.minMembers, '--min-members'),
    min_count: readCount(options.minCount, '--min-count'),
    min_names: readCount(options.minNames, '--min-names'),
  }
  const given = Object.entries(least).filter(([, value]) => value !== undefined)
  return {
    from,
    by,
    scope,
    since: parseInstant(since, '--since', nowMs),
    ...(until === undefined ? {} : { until: parseInstant(until, '--until', nowMs) }),
    generalize: generalize === true,
    ...(Object.fromEntries(given) as Pick<SuggestionsRequest, keyof typeof least>),
  }
}

function readCount(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw usageError(`\`${option}\` must be a whole number from 1 to 999999`)
  return Number(text)
}

/** An existing file may hold policies that somebody has edited. */
async function requireNew(path: string, shown: string): Promise<void> {
  const exists = await lstat(path).then(
    () => true,
    () => false,
  )
  if (exists) throw unreadable(shown, 'exists; name a new file')
}
