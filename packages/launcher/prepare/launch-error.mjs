/** A problem that the user can fix; only its message is printed, without a stack. */
export class LaunchError extends Error {
  /**
   * @param {string} message
   * @param {number} [exitCode]
   */
  constructor(message, exitCode = 1) {
    super(message)
    this.name = 'LaunchError'
    this.exitCode = exitCode
  }
}
