const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Listens for SIGTERM and SIGINT from now on. Resolves with the name of the first, and calls
 * `endAtOnce` at every further one, because a second signal asks not to wait.
 */
export function listenForStop(endAtOnce: () => void): Promise<string> {
  return new Promise((resolve) => {
    let isStopping = false
    for (const signal of SIGNALS)
      process.on(signal, () => {
        if (isStopping) endAtOnce()
        isStopping = true
        resolve(signal)
      })
  })
}
