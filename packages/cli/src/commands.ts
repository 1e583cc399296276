import type { Command } from 'commander'
import type { RunContext } from './runtime/run-context.ts'

/** Adds one command, with its own commands, to the program. */
type AddCommand = (program: Command, context: RunContext) => void

type LoadCommand = () => Promise<AddCommand>

/**
 * Adds the command that `first` names, the first word of the command line, empty without words.
 * Adds all commands if it names no command: the help and the correction of a misspelt word list
 * them. Each command has files of its own in the bundle, because loading all takes longer than most
 * runs (bench: sandbox/client).
 */
export async function addCommands(
  program: Command,
  context: RunContext,
  first: string,
): Promise<void> {
  // Commander prints the version before it reads any further word.
  if (first === '--version') return
  const own = Object.values(COMMANDS).find((group) => Object.hasOwn(group, first))?.[first]
  if (own !== undefined) {
    ;(await own())(program, context)
    return acceptSynonyms(program)
  }
  for (const [heading, group] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading)
    for (const load of Object.values(group)) (await load())(program, context)
  }
  acceptSynonyms(program)
}

/** Words of one meaning for a command of a group; the help shows the one that the command has. */
const SYNONYMS: readonly (readonly string[])[] = [
  ['list', 'ls'],
  ['remove', 'rm', 'delete'],
]

/** Accepts all of these words in a group where one command has one of them. */
function acceptSynonyms(program: Command): void {
  for (const group of program.commands) for (const words of SYNONYMS) acceptWords(group, words)
}

function acceptWords(group: Command, words: readonly string[]): void {
  const [command, another] = group.commands.filter((each) => words.includes(each.name()))
  if (command === undefined || another !== undefined) return
  for (const word of words) if (word !== command.name()) command.alias(word)
}

/** The commands by their headings in the help, in its order. */
const COMMANDS: Readonly<Record<string, Readonly<Record<string, LoadCommand>>>> = {
  'Decisions:': {
    check: async () => (await import('./check/check-command.ts')).addCheckCommand,
    explain: async () => (await import('./check/check-command.ts')).addExplainCommand,
    lint: async () => (await import('./policy-file/lint-command.ts')).addLintCommand,
  },
  'This machine:': {
    status: async () => (await import('./machine/status-command.ts')).addStatusCommand,
    rules: async () => (await import('./machine/rules-command.ts')).addRulesCommand,
    log: async () => (await import('./machine/log-command.ts')).addLogCommand,
    why: async () => (await import('./machine/why-command.ts')).addWhyCommand,
    request: async () => (await import('./machine/request/request-command.ts')).addRequestCommand,
    doctor: async () => (await import('./doctor/doctor-command.ts')).addDoctorCommand,
    env: async () => (await import('./proxied-programs/env-command.ts')).addEnvCommand,
    exec: async () => (await import('./proxied-programs/exec-command.ts')).addExecCommand,
    run: async () => (await import('./sandbox/run-command.ts')).addRunCommand,
    staged: async () => (await import('./sandbox/staged-commands.ts')).addStagedCommands,
    connect: async () => (await import('./proxied-programs/connect-command.ts')).addConnectCommand,
    deny: async () => (await import('./machine/deny-commands.ts')).addDenyCommand,
    undeny: async () => (await import('./machine/deny-commands.ts')).addUndenyCommand,
    sync: async () => (await import('./machine/sync-command.ts')).addSyncCommand,
    bundle: async () => (await import('./machine/bundle-commands.ts')).addBundleCommands,
    'break-glass': async () =>
      (await import('./machine/break-glass-commands.ts')).addBreakGlassCommands,
  },
  'For other programs:': {
    hook: async () => (await import('./hook/hook-command.ts')).addHookCommand,
    decider: async () => (await import('./decider/decider-command.ts')).addDeciderCommands,
  },
  'Administration:': {
    login: async () => (await import('./account/login-command.ts')).addLoginCommand,
    logout: async () => (await import('./account/logout-command.ts')).addLogoutCommand,
    policy: async () =>
      (await import('./administration/policies/policy-commands.ts')).addPolicyCommands,
    rule: async () => (await import('./administration/policies/rule-commands.ts')).addRuleCommands,
    org: async () =>
      (await import('./administration/organization/organization-commands.ts'))
        .addOrganizationCommands,
    member: async () =>
      (await import('./administration/members/member-commands.ts')).addMemberCommands,
    invitation: async () =>
      (await import('./administration/members/invitation-commands.ts')).addInvitationCommands,
    team: async () => (await import('./administration/teams/team-commands.ts')).addTeamCommands,
    access: async () =>
      (await import('./administration/access/access-commands.ts')).addAccessCommands,
    token: async () => (await import('./administration/tokens/token-commands.ts')).addTokenCommands,
    events: async () => (await import('./administration/audit/events-command.ts')).addEventsCommand,
    audit: async () => (await import('./administration/audit/audit-command.ts')).addAuditCommand,
    suggest: async () => (await import('./suggest/suggest-command.ts')).addSuggestCommand,
    webhook: async () =>
      (await import('./administration/webhooks/webhook-commands.ts')).addWebhookCommands,
    device: async () =>
      (await import('./administration/devices/device-commands.ts')).addDeviceCommands,
    revision: async () =>
      (await import('./administration/devices/revision-command.ts')).addRevisionCommand,
    rollout: async () =>
      (await import('./administration/rollouts/rollout-commands.ts')).addRolloutCommands,
    enrolment: async () =>
      (await import('./administration/tokens/enrolment-commands.ts')).addEnrolmentCommands,
    enrol: async () => (await import('./machine/enrol-command.ts')).addEnrolCommand,
  },
  'Policies as files:': {
    plan: async () => (await import('./policy-source/plan-command.ts')).addPlanCommand,
    apply: async () => (await import('./policy-source/apply-command.ts')).addApplyCommand,
    export: async () => (await import('./policy-source/export-command.ts')).addExportCommand,
    schema: async () => (await import('./policy-file/schema-command.ts')).addSchemaCommand,
  },
}
