/** A function, because the CommonJS bundle has no top-level `await`. */
async function main(): Promise<void> {
  // The variable would send tokens and passwords to a server with any certificate.
  delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  // process.exit() would discard output that is still being written to a pipe.
  process.exitCode = await start(process.argv.slice(2))
}

async function start(argv: readonly string[]): Promise<number> {
  const [command, host = '', ...rest] = argv
  // Runs before every tool call of a coding agent, so it loads nothing else of this program.
  if (command === 'hook' && /^[a-z]/.test(host) && rest.length === 0) {
    const [{ runHook }, { createHookIo }] = await Promise.all([
      import('./hook/run-hook.ts'),
      import('./hook/hook-io.ts'),
    ])
    return runHook(host, createHookIo())
  }
  const [{ run }, { createProcessIo }] = await Promise.all([
    import('./run.ts'),
    import('./runtime/process-io.ts'),
  ])
  return run(argv, createProcessIo())
}

void main()
