/** Access that a tool call asks for. */
export type ToolRequest =
  | {
      readonly kind: 'path'
      readonly actions: readonly ('read' | 'write')[]
      /** The path as the host wrote it. */
      readonly path: string
    }
  | { readonly kind: 'url'; readonly url: string }
  /** A known tool whose arguments name no target: denied. `problem` completes "the call …". */
  | { readonly kind: 'unclear'; readonly problem: string }

/** A tool call as a host describes it. Without requests Palisade has no opinion on the call. */
export interface ToolCall {
  /** Directory for relative paths; null when the host names none. */
  readonly cwd: string | null
  readonly requests: readonly ToolRequest[]
}

/** Output of the hook, in the host's own form. */
export interface HookAnswer {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

/** The host's object on standard input. */
export type HookInput = Readonly<Record<string, unknown>>

/** How one host calls a hook before a tool, and reads its answer. */
export interface HookFormat {
  /** Argument of `palisade hook`. */
  readonly host: string
  /** The host's name for people. */
  readonly title: string
  /** Files in which the hook is installed. */
  readonly file: string
  /** The content of that file. `command` runs the hook. */
  readonly snippet: (command: string) => string
  /** The tools that are decided, for people. */
  readonly decided: string
  /** Returns null for an event that this format does not know, which is denied. */
  readonly read: (input: HookInput) => ToolCall | null
  /** `input` is null when it is no JSON object. */
  readonly deny: (reason: string, input: HookInput | null) => HookAnswer
  /** Leaves the call to the host's own permissions. Palisade only tightens them. */
  readonly pass: (input: HookInput) => HookAnswer
}
