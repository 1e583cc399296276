import { Command } from 'commander'
import { addEnrolCommand } from './account/enrol-command.ts'
import { addLoginCommand } from './account/login-command.ts'
import { addLogoutCommand } from './account/logout-command.ts'
import { addDeviceCommands } from './administration/device-commands.ts'
import { addEnrolmentCommands } from './administration/enrolment-commands.ts'
import { addEventsCommand } from './administration/events-command.ts'
import { addInvitationCommands } from './administration/invitation-commands.ts'
import { addOrganizationCommands } from './administration/organization-commands.ts'
import { addPolicyCommands } from './administration/policy-commands.ts'
import { addMemberCommands } from './administration/member-commands.ts'
import { addRevisionCommand } from './administration/revision-command.ts'
import { addRolloutCommands } from './administration/rollout-commands.ts'
import { addRuleCommands } from './administration/rule-commands.ts'
import { addTeamCommands } from './administration/team-commands.ts'
import { addTokenCommands } from './administration/token-commands.ts'
import { addWebhookCommands } from './administration/webhook-commands.ts'
import { addCheckCommand, addExplainCommand } from './check/check-command.ts'
import { addDoctorCommand } from './doctor/doctor-command.ts'
import { addDeciderCommands } from './decider/decider-command.ts'
import { addHookCommand } from './hook/hook-command.ts'
import { addBreakGlassCommands } from './machine/break-glass-commands.ts'
import { addBundleCommands } from './machine/bundle-commands.ts'
import { addLogCommand } from './machine/log-command.ts'
import { addDenyCommands } from './machine/deny-commands.ts'
import { addStatusCommand } from './machine/status-command.ts'
import { addSyncCommand } from './machine/sync-command.ts'
import { addWhyCommand } from './machine/why-command.ts'
import { addLintCommand } from './policy-file/lint-command.ts'
import { addApplyCommand } from './policy-source/apply-command.ts'
import { addExportCommand } from './policy-source/export-command.ts'
import { addPlanCommand } from './policy-source/plan-command.ts'
import { addSchemaCommand } from './policy-source/schema-command.ts'
import { addConnectCommand } from './programs/connect-command.ts'
import { addEnvCommand } from './programs/env-command.ts'
import { addExecCommand } from './programs/exec-command.ts'
import type { RunContext } from './run-context.ts'
import { VERSION } from './version.ts'

/** Sinks for commander's own output. */
export interface ProgramOutput {
  readonly out: (text: string) => void
  readonly error: (text: string) => void
}

/** Creates the whole command line. It never ends the process; wrong usage throws CommanderError. */
export function createProgram(context: RunContext, output: ProgramOutput): Command {
  const program = new Command('palisade')
    .description('Decide, centrally and provably, what software on your machines may reach.')
    .version(VERSION, '--version', 'print the version')
    .option('--debug', 'print the stack of a failure')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeOut: output.out, writeErr: output.error, outputError: () => undefined })
    .addHelpText(
      'after',
      `
Exit codes: 0 done or allowed, 1 failed or denied, 2 wrong usage or not evaluated,
            70 a defect of this program, 78 broken configuration

Examples:
  palisade check connect:tcp example.com:443
  palisade explain read /data/x --policies policies.json
  palisade status
  palisade policy list`,
    )
  program.commandsGroup('Decisions:')
  addCheckCommand(program, context)
  addExplainCommand(program, context)
  addLintCommand(program, context)
  program.commandsGroup('This machine:')
  addStatusCommand(program, context)
  addLogCommand(program, context)
  addWhyCommand(program, context)
  addDoctorCommand(program, context)
  addEnvCommand(program, context)
  addExecCommand(program, context)
  addConnectCommand(program, context)
  addDenyCommands(program, context)
  addSyncCommand(program, context)
  addBundleCommands(program, context)
  addBreakGlassCommands(program, context)
  program.commandsGroup('For other programs:')
  addHookCommand(program, context)
  addDeciderCommands(program, context)
  program.commandsGroup('Administration:')
  addLoginCommand(program, context)
  addLogoutCommand(program, context)
  addPolicyCommands(program, context)
  addRuleCommands(program, context)
  addOrganizationCommands(program, context)
  addMemberCommands(program, context)
  addInvitationCommands(program, context)
  addTeamCommands(program, context)
  addTokenCommands(program, context)
  addEventsCommand(program, context)
  addWebhookCommands(program, context)
  addDeviceCommands(program, context)
  addRevisionCommand(program, context)
  addRolloutCommands(program, context)
  addEnrolmentCommands(program, context)
  addEnrolCommand(program, context)
  program.commandsGroup('Policies as files:')
  addPlanCommand(program, context)
  addApplyCommand(program, context)
  addExportCommand(program, context)
  addSchemaCommand(program, context)
  return program
}
