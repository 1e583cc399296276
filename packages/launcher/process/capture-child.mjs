import { spawn } from 'node:child_process'

/**
 * Runs a program to its end and keeps what it says.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, input?: string }} options
 * @returns {Promise<{ code: number, stdout: string, stderr: string, output: string,
 *   missing: boolean }>} `output` is both streams as they came; `missing` when there is no such program
 */
export function captureChild(command, args, { cwd, env, input }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
    const said = { stdout: '', stderr: '', output: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said.stdout += text
      said.output += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said.stderr += text
      said.output += text
    })
    child.on('error', (error) => {
      if ('code' in error && error.code === 'ENOENT') resolve({ code: 127, ...said, missing: true })
      else reject(error)
    })
    child.on('close', (code) => resolve({ code: code ?? 1, ...said, missing: false }))
    child.stdin.on('error', () => {}) // a program may end without reading
    child.stdin.end(input ?? '')
  })
}
