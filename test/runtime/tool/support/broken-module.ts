/** A module that cannot be loaded. */
throw new Error('broken on purpose')
