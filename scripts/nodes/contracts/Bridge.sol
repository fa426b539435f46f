// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

interface Token {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// One side of a bridge: locks coins and tokens, and releases them to others.
contract Bridge {
    address public immutable operator = msg.sender;
    uint256 public nonce;
    mapping(uint256 => bool) public released;

    event Locked(address indexed from, address indexed to, address token, uint256 value, uint256 nonce);
    event Released(address indexed to, address token, uint256 value, uint256 nonce);

    function lockCoins(address to) external payable {
        emit Locked(msg.sender, to, address(0), msg.value, nonce++);
    }

    function lockTokens(Token token, address to, uint256 value) external {
        require(token.transferFrom(msg.sender, address(this), value));
        emit Locked(msg.sender, to, address(token), value, nonce++);
    }

    function releaseCoins(address payable to, uint256 value, uint256 number) external {
        claim(number);
        (bool isDone, ) = to.call{value: value}("");
        require(isDone, "the receiver refuses");
        emit Released(to, address(0), value, number);
    }

    function releaseTokens(Token token, address to, uint256 value, uint256 number) external {
        claim(number);
        require(token.transfer(to, value));
        emit Released(to, address(token), value, number);
    }

    function claim(uint256 number) private {
        require(msg.sender == operator && !released[number], "not the operator, or released before");
        released[number] = true;
    }
}
