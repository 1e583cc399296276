import { z } from 'zod'
import { syncErrorSchema } from './local-api.ts'

/** Limit of the workspaces of one sandbox. */
export const MAX_WORKSPACES = 32
const MAX_PATH_LENGTH = 4_096
const MAX_VARIABLES = 1_000
const MAX_WORDS = 100
const MAX_PUBLISHED = 16
const MAX_GUARDED = 100

const path = z
  .string()
  .startsWith('/', 'must be absolute')
  .max(MAX_PATH_LENGTH)
  .refine((text) => !text.includes('\0'), 'must not have a NUL character')

/** A part of the file system that the command sees at its real path. */
export const workspaceSchema = z.strictObject({
  path,
  /** `ro` needs `read` of the policy, `rw` needs `read` and `write`. */
  access: z.enum(['ro', 'rw']),
})
export type Workspace = z.infer<typeof workspaceSchema>

const MAX_PROCESSES = 1_000_000
const MAX_BYTES = 2 ** 50
const MAX_FILES = 1_000_000

const count = (least: number, most: number) =>
  z.int().min(least, `must be at least ${least}`).max(most, `must be at most ${most}`)

/**
 * Limits of one sandbox. An absent one has its default. A limit that the machine cannot hold is
 * refused when it is asked for.
 */
export const sandboxLimitsSchema = z.strictObject({
  /** Processes and threads at once. */
  processes: count(1, MAX_PROCESSES).optional(),
  /** Memory of all processes together, with the private directories. */
  memory_bytes: count(2 ** 20, MAX_BYTES).optional(),
  /** Private writable memory of each process. */
  process_memory_bytes: count(2 ** 20, MAX_BYTES).optional(),
  /** Size of each private directory. */
  tmp_bytes: count(2 ** 20, MAX_BYTES).optional(),
  /** Open files of each process. */
  files: count(16, MAX_FILES).optional(),
})
export type SandboxLimits = z.infer<typeof sandboxLimitsSchema>

/** How the machine bounds a sandbox. Null for a limit that it cannot hold. */
export const limitMechanismsSchema = z.object({
  /** `rlimit`: the kernel counts the processes of the user in the sandbox. */
  processes: z.enum(['cgroup', 'rlimit']).nullable(),
  memory: z.enum(['cgroup']).nullable(),
})
export type LimitMechanisms = z.infer<typeof limitMechanismsSchema>

const variableName = z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of a variable')
const variableValue = z
  .string()
  .refine((value) => !value.includes('\0'), 'must not have a NUL character')

const MAX_PORT = 65_535
/** Ports that every user may open. */
const LEAST_HOST_PORT = 1_024

/** A port of the machine's loopback whose connections lead to a port of the sandbox. */
export const publishedPortSchema = z.strictObject({
  host_port: count(LEAST_HOST_PORT, MAX_PORT),
  port: count(1, MAX_PORT),
})
export type PublishedPort = z.infer<typeof publishedPortSchema>

/** `POST /v1/sandboxes` makes a sandbox for one command, which itself stays with the caller. */
export const sandboxRequestSchema = z.strictObject({
  workspaces: z
    .array(workspaceSchema)
    .min(1, 'must name at least one workspace')
    .max(MAX_WORKSPACES, `must name at most ${MAX_WORKSPACES} workspaces`),
  /** Where the command starts, in one of the workspaces. */
  directory: path,
  /** The environment of the command, but for `authorities`. */
  variables: z
    .record(variableName, variableValue)
    .refine(
      (variables) => Object.keys(variables).length <= MAX_VARIABLES,
      `must have at most ${MAX_VARIABLES} variables`,
    ),
  /**
   * Further variables, which name certificate authorities. One is left out, with a warning, unless
   * the sandbox shows each of its `paths`.
   */
  authorities: z
    .array(
      z.strictObject({
        variable: variableName,
        value: variableValue,
        paths: z.array(path).min(1).max(MAX_WORDS),
      }),
    )
    .max(MAX_WORDS)
    .optional(),
  /**
   * Paths that programs outside obey beside the guarded names, such as the hooks that the settings
   * of git name. The command may not write them, unless a rule allows it by their name.
   */
  guarded: z
    .array(path.refine((text) => !/[\p{Cc}\p{Cs}]/u.test(text), 'must be printable'))
    .max(MAX_GUARDED, `must name at most ${MAX_GUARDED} guarded paths`)
    .optional(),
  publish: z
    .array(publishedPortSchema)
    .max(MAX_PUBLISHED, `must name at most ${MAX_PUBLISHED} ports`)
    .optional(),
  limits: sandboxLimitsSchema.optional(),
  /**
   * Keeps the changes in the workspaces apart until they are reviewed. The shell that the caller
   * becomes executes `after` once the command has ended, followed by the id of the sandbox and the
   * exit code.
   */
  strict: z
    .strictObject({
      after: z
        .array(z.string().refine((word) => !word.includes('\0'), 'must not have a NUL character'))
        .min(1)
        .max(MAX_WORDS),
    })
    .optional(),
})
export type SandboxRequest = z.infer<typeof sandboxRequestSchema>

/** How the caller starts its command in the sandbox that was made for it. */
export const sandboxLaunchSchema = z.object({
  id: z.string(),
  /** The caller runs this program with these arguments, followed by its command. */
  program: z.string(),
  arguments: z.array(z.string()),
  /** Sentences for people about denies that hold only in part. */
  warnings: z.array(z.string()),
})
export type SandboxLaunch = z.infer<typeof sandboxLaunchSchema>

export const sandboxResultSchema = z.object({
  /** `failed`: the command must not be run. */
  outcome: z.enum(['ready', 'failed']),
  /** Null after a failure. */
  launch: sandboxLaunchSchema.nullable(),
  /**
   * `code` is stable: `invalid_request`, `workspace_denied`, `policy_not_in_force`,
   * `limit_exceeded` or `unavailable`.
   */
  error: syncErrorSchema.nullable(),
})
export type SandboxResult = z.infer<typeof sandboxResultSchema>
