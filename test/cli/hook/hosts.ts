import type { CliRun } from '../run-cli.ts'

/** How each host documents a denial, and a hook without an opinion. */
export interface HostForm {
  /** The reason of a denial in the host's form; null for any other output. */
  readonly denied: (run: CliRun) => string | null
  readonly passed: (run: CliRun) => boolean
}

function objectOf({ out }: CliRun): Record<string, unknown> {
  const value: unknown = out === '' ? {} : JSON.parse(out)
  return value as Record<string, unknown>
}

function reasonOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** Status 2 with a text on standard error denies every event. */
function deniedByStatus({ code, err }: CliRun): string | null {
  return code === 2 ? reasonOf(err) : null
}

const PRE_TOOL_USE: HostForm = {
  denied(run) {
    const specific = objectOf(run)['hookSpecificOutput'] as Record<string, unknown> | undefined
    if (specific === undefined) return deniedByStatus(run)
    // Codex runs the call after an object with any other member.
    const members = ['hookEventName', 'permissionDecision', 'permissionDecisionReason']
    const isExact =
      Object.keys(objectOf(run)).length === 1 &&
      JSON.stringify(Object.keys(specific)) === JSON.stringify(members)
    if (run.code !== 0 || !isExact || specific['hookEventName'] !== 'PreToolUse') return null
    return specific['permissionDecision'] === 'deny'
      ? reasonOf(specific['permissionDecisionReason'])
      : null
  },
  passed: (run) => run.code === 0 && run.out === '' && run.err === '',
}

export const HOST_FORMS: Readonly<Record<string, HostForm>> = {
  claude: PRE_TOOL_USE,
  codex: PRE_TOOL_USE,
  cursor: {
    denied(run) {
      const { permission, user_message, agent_message } = objectOf(run)
      if (run.code !== 0) return deniedByStatus(run)
      return permission === 'deny' && user_message === agent_message ? reasonOf(user_message) : null
    },
    passed: (run) => run.code === 0 && ['{}\n', '{"permission":"allow"}\n'].includes(run.out),
  },
  gemini: {
    denied(run) {
      const { decision, reason } = objectOf(run)
      return run.code === 0 && decision === 'deny' ? reasonOf(reason) : null
    },
    passed: (run) => run.code === 0 && run.out === '{}\n',
  },
  copilot: {
    // Copilot skips a hook that ends with any other status.
    denied(run) {
      const { permissionDecision, permissionDecisionReason } = objectOf(run)
      return run.code === 0 && permissionDecision === 'deny'
        ? reasonOf(permissionDecisionReason)
        : null
    },
    passed: (run) => run.code === 0 && run.out === '{}\n',
  },
}
