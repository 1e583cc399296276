import { ClientError, type AppliedDocument, type OrganizationClient } from '@palisade/client'
import { PolicyError } from '@palisade/policy-core'
import { pathOfMember, type ApplyResponse, type ExportResponse } from '@palisade/protocol'
import type { Command } from 'commander'
import { connectOrganization } from '../account/connect-server.ts'
import { listSourceFiles } from '../policy-file/list-source-files.ts'
import { loadFiles, type LoadedPolicy } from '../policy-file/load-sources.ts'
import { warnOfFindings } from '../policy-file/warn-of-findings.ts'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { Io } from '../runtime/io.ts'
import type { RunContext } from '../runtime/run-context.ts'
import { comparePlan, type ComparedAt, type PlanComparison } from './compare-audiences.ts'
import type { ShownPlan } from './format-plan.ts'

/** Common options of `plan` and `apply`. */
export interface PlanOptions {
  readonly prune?: true
  readonly home: string
  readonly json?: true
}

export interface MadePlan extends ShownPlan {
  readonly organization: OrganizationClient
  readonly document: AppliedDocument
}

export const PLAN_NOTES = `
A directory stands for every *.yaml, *.yml and *.json below it, in any letter case. Other files are
named and not read; names that begin with a dot are skipped, links out of it are refused.
Policies are identified by name: a policy that is not in the files stays without \`--prune\`, a rule
that is not in its policy is removed, and a renamed policy or rule is deleted and created again.
\`palisade schema\` prints the format.`

export function addPlanOptions(command: Command): Command {
  return command
    .argument('<files...>', 'files or directories of policies')
    .option('--prune', 'delete the policies that are not in the files')
    .option('--home <path>', 'directory that `~` stands for in the comparison', '/home/user')
    .option('--json', 'print one JSON object')
}

/** Reads the files, asks the server for their changes, and compares the decisions. */
export async function makePlan(
  io: Io,
  files: readonly string[],
  options: PlanOptions,
): Promise<MadePlan> {
  const loaded = await loadFiles(io, await listSourceFiles(io, files))
  const { org, organization } = await connectOrganization(io)
  const document = { policies: loaded.map(({ policy }) => policy), prune: options.prune === true }
  const fetched = await fetchPlan(organization, document).catch((error: unknown) => {
    throw locateError(error, loaded)
  })
  const comparison = compareFor(fetched, { home: options.home, now: io.now() })
  return { org, organization, document, plan: fetched.plan, comparison, home: options.home }
}

/** Turns a server error about a member of a policy into one about its file, line and column. */
function locateError(error: unknown, loaded: readonly LoadedPolicy[]): unknown {
  if (!(error instanceof ClientError) || error.api?.field === undefined) return error
  const { field, message, reason, code } = error.api
  const [list, index, ...path] = pathOfMember(field)
  const found = list === 'policies' && typeof index === 'number' ? loaded[index] : undefined
  if (found === undefined) return error
  const line = `${found.locate(path)}: ${message} (${reason ?? code})`
  return new CliError('ERR_POLICY_FILE', EXIT.failed, line, { cause: error })
}

/** Warns of findings in the policies that the plan creates or changes. */
export async function warnOfPlanned(
  context: RunContext,
  { document, plan }: MadePlan,
): Promise<void> {
  const changed = new Set(plan.changes.map(({ name }) => name))
  const policies = document.policies.map(({ name, scope = {}, mode, rules }) => ({
    id: name,
    name,
    scope: { teams: [...(scope.teams ?? [])] },
    mode,
    allowlist_v0: { rules: rules.map((rule) => ({ ...rule, id: rule.name })) },
  }))
  await warnOfFindings(context, policies, ({ policy_name }) => changed.has(policy_name))
}

/** The plan as one JSON value. */
export function planValue({ org, plan, comparison }: ShownPlan): object {
  return { org, ...plan, comparison }
}

function compareFor({ snapshot, plan }: FetchedPlan, at: ComparedAt): PlanComparison {
  try {
    return comparePlan(snapshot, plan.changes, at)
  } catch (error) {
    if (error instanceof PolicyError && error.code === 'ERR_OPTION_INVALID')
      throw usageError(`\`--home\`: ${error.message}`)
    throw error
  }
}

/** A plan, and the snapshot that it would change; both are of one revision. */
interface FetchedPlan {
  readonly snapshot: ExportResponse
  readonly plan: ApplyResponse
}

const MAX_ATTEMPTS = 3

/** Retries when a write comes between the two requests. Throws ClientError. */
async function fetchPlan(
  organization: OrganizationClient,
  document: AppliedDocument,
): Promise<FetchedPlan> {
  for (let attempt = 1; ; attempt += 1) {
    const snapshot = await organization.policySet.export()
    try {
      return { snapshot, plan: await organization.policySet.plan(document, snapshot.revision) }
    } catch (error) {
      const moved = error instanceof ClientError && error.api?.status === 412
      if (!moved || attempt === MAX_ATTEMPTS) throw error
    }
  }
}
